//! The controller of `docs/tutorials/controller.md`, built and tested as the page has it.

use crate::Catalog;

#[path = "../../../../docs/tutorials/patient.rs"]
mod patient;

const PAGE: &str = include_str!("../../../../docs/tutorials/controller.md");

#[test]
fn the_page_shows_the_file_that_is_tested_here() {
    let file = include_str!("../../../../docs/tutorials/patient.rs");
    assert!(PAGE.contains(&format!("```rust\n{file}```\n")));
}

#[test]
fn the_line_of_the_page_makes_its_experiment_work() {
    assert!(PAGE.contains("```rust\ncatalog.register::<crate::classic::patient::Patient>()?;\n```"));
    let mut catalog = Catalog::default();
    catalog.register::<patient::Patient>().unwrap();
    let written = PAGE.lines().find_map(|line| line.strip_prefix("cc = { name = \"patient\", max_queue_us = "));
    let max_queue_us: u32 = written.and_then(|rest| rest.strip_suffix(" }")).unwrap().parse().unwrap();
    let parameters = |key: &str| [(key.to_owned(), max_queue_us.into())].into_iter().collect();
    assert!(catalog.recipe("patient", &parameters("max_queue_us")).is_ok());
    assert!(catalog.recipe("patient", &parameters("max_queue")).is_err());
}
