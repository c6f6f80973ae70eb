//! The discipline of `docs/tutorials/queue.md`, built and tested as the page has it.

use super::*;
use crate::catalog::LinkContext;
use serde_json::Value;

#[path = "../../../../docs/tutorials/deadline.rs"]
mod deadline;

const PAGE: &str = include_str!("../../../../docs/tutorials/queue.md");

#[test]
fn the_page_shows_the_file_that_is_tested_here() {
    let file = include_str!("../../../../docs/tutorials/deadline.rs");
    assert!(PAGE.contains(&format!("```rust\n{file}```\n")));
}

#[test]
fn the_line_of_the_page_makes_its_experiment_work() {
    assert!(PAGE.contains("```rust\nkind::<deadline::Deadline>(),\n```"));
    let catalog = Catalog::new("queue", vec![kind::<deadline::Deadline>()]);
    let written = PAGE.lines().find_map(|line| line.strip_prefix("queue = { kind = \"deadline\", max_wait = "));
    let max_wait = written.and_then(|rest| rest.strip_suffix(" }")).unwrap().trim_matches('"');
    let table = [("max_wait".to_owned(), Value::from(max_wait))].into_iter().collect();
    let recipe = catalog.resolve("deadline", &table, &LinkContext::default()).unwrap();
    assert_eq!(recipe.in_words(), "deadline (30 ms)");
    let misspelt = [("max_weight".to_owned(), Value::from("30ms"))].into_iter().collect();
    let refused = catalog.resolve("deadline", &misspelt, &LinkContext::default()).unwrap_err();
    assert!(refused[0].help.contains("max_wait"), "{refused:?}");
}
