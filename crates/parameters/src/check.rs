//! Which values of a table are out of the declared ranges.

use crate::declaration::Parameter;
use crate::problem::Problem;
use crate::range::in_words;
use serde::Serialize;
use serde_json::Value;

/// What of `values`, a table of all `parameters`, is out of the declared ranges.
pub fn check(parameters: &[Parameter], values: &impl Serialize) -> Vec<Problem> {
    check_values(parameters, &serde_json::to_value(values).unwrap_or_default())
}

fn check_values(parameters: &[Parameter], values: &Value) -> Vec<Problem> {
    let problem = |parameter: &Parameter| {
        let value = parameter.value(values)?;
        let allowed = parameter.range.refuses(value, values)?;
        let key = &parameter.key;
        let unit = parameter.unit.as_ref().map_or_else(String::new, |unit| format!(", in {unit}"));
        Some(Problem::value(key, format!("`{key}` is {}", in_words(value)), format!("allowed: {allowed}{unit}")))
    };
    parameters.iter().filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared;
    use dumbbell_units::{Duration, Rate, Ratio};
    use schemars::JsonSchema;
    use serde_json::json;

    #[derive(Serialize, JsonSchema)]
    struct Bounds {
        #[schemars(range(min = 1))]
        count: u32,
        #[schemars(range(max = 32))]
        shift: u32,
        #[schemars(range(min = 0, max = 9))]
        gain: f64,
        #[schemars(extend("x-above" = "0s", "x-at-most" = "longest"))]
        shortest: Duration,
        #[schemars(extend("x-at-most" = "1h"))]
        longest: Duration,
        #[schemars(extend("x-above" = "0%", "x-at-most" = "100%"))]
        share: Option<Ratio>,
        #[schemars(extend("x-above" = "0bit", "x-at-most" = "100tbit"))]
        rate: Rate,
        #[schemars(extend("x-below" = "100%"))]
        margin: Ratio,
        #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
        part: f64,
        #[schemars(length(min = 2, max = 3), inner(range(min = 1)))]
        parts: Vec<u32>,
    }

    fn problems(changed: Value) -> Vec<String> {
        let mut values = json!({
            "count": 1, "shift": 32, "gain": 0.0, "shortest": "1ns", "longest": "1h", "share": "100%", "rate": "100tbit",
            "margin": "99%", "part": 0.5, "parts": [1, 2],
        });
        values.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        check(&declared::<Bounds>(), &values).into_iter().map(|p| format!("{}; {}", p.message, p.help)).collect()
    }

    #[test]
    fn the_ends_of_a_range_belong_to_it_unless_it_is_open() {
        assert!(problems(json!({})).is_empty());
        assert_eq!(problems(json!({ "count": 0 })), ["`count` is 0; allowed: at least 1"]);
        assert_eq!(problems(json!({ "shift": 33 })), ["`shift` is 33; allowed: at most 32"]);
        assert_eq!(problems(json!({ "gain": -1.0 })), ["`gain` is -1.0; allowed: 0 to 9"]);
        assert_eq!(problems(json!({ "share": "0%" })), ["`share` is 0%; allowed: more than 0%, at most 100%"]);
        assert_eq!(problems(json!({ "rate": "0bit" })), ["`rate` is 0bit; allowed: more than 0bit, at most 100tbit"]);
        assert!(problems(json!({ "share": null })).is_empty(), "what is not given is not out of range");
    }

    #[test]
    fn either_end_can_be_open() {
        assert_eq!(problems(json!({ "margin": "100%" })), ["`margin` is 100%; allowed: less than 100%"]);
        for part in [0, 1] {
            let found = problems(json!({ "part": part }));
            assert_eq!(found, [format!("`part` is {part}; allowed: more than 0, less than 1")]);
        }
    }

    #[test]
    fn a_list_has_a_length_and_a_range_for_its_elements() {
        assert!(problems(json!({ "parts": [1, 2, 3] })).is_empty());
        for parts in ["[1]", "[1,2,3,4]", "[1,0]"] {
            let found = problems(json!({ "parts": serde_json::from_str::<Value>(parts).unwrap() }));
            assert_eq!(found, [format!("`parts` is {parts}; allowed: a list of 2 to 3, each at least 1")]);
        }
    }

    #[test]
    fn a_list_may_declare_one_thing_alone() {
        #[derive(Serialize, JsonSchema)]
        struct Lists {
            #[schemars(length(min = 2))]
            some: Vec<f64>,
            #[schemars(length(max = 2))]
            few: Vec<f64>,
            #[schemars(inner(range(max = 1)))]
            small: Vec<f64>,
            any: Vec<f64>,
        }

        let found = |some: &[f64], few: &[f64], small: &[f64]| {
            let lists = Lists { some: some.to_vec(), few: few.to_vec(), small: small.to_vec(), any: vec![9.0; 9] };
            check(&declared::<Lists>(), &lists).into_iter().map(|p| p.help).collect::<Vec<_>>()
        };
        let nothing: [&str; 0] = [];
        assert_eq!(found(&[9.0, 9.0], &[], &[]), nothing);
        assert_eq!(found(&[9.0; 9], &[9.0, 9.0], &[1.0; 9]), nothing);
        assert_eq!(found(&[9.0], &[], &[]), ["allowed: a list of at least 2"]);
        assert_eq!(found(&[9.0; 2], &[9.0; 3], &[]), ["allowed: a list of at most 2"]);
        assert_eq!(found(&[9.0; 2], &[], &[1.0, 1.5]), ["allowed: a list, each at most 1"]);
    }

    #[test]
    fn a_parameter_can_be_the_bound_of_another() {
        let found = problems(json!({ "shortest": "2s", "longest": "1s" }));
        assert_eq!(found, ["`shortest` is 2s; allowed: at most `longest`, which is 1s"]);
        let found = problems(json!({ "shortest": "0s" }));
        assert_eq!(found, ["`shortest` is 0s; allowed: more than 0s, at most `longest`"]);
    }
}
