//! Counter-examples: each reaches the position that its message is about, and accepted programs have none.

use testkit::Random;

use crate::{NoSources, compile};

/// The values that are tried of each argument.
const TRIED: std::ops::RangeInclusive<i64> = -12..=12;

/// A sum of both arguments and a number.
struct Sum(i64, i64, i64);

impl Sum {
    fn random(random: &mut Random) -> Sum {
        let mut factor = || random.below(5) as i64 - 2;
        Sum(factor(), factor(), factor())
    }

    fn at(&self, a: i64, b: i64) -> i64 {
        self.0 * a + self.1 * b + self.2
    }

    fn text(&self) -> String {
        format!("(a * ({}) + b * ({}) + ({}))", self.0, self.1, self.2)
    }
}

/// A clause that comes before the division, with what its pattern and its guard demand.
struct Clause(Option<i64>, Option<i64>, Option<Sum>);

impl Clause {
    fn random(random: &mut Random) -> Clause {
        let mut literal = || random.chance(40).then(|| random.below(7) as i64 - 3);
        let (a, b) = (literal(), literal());
        Clause(a, b, random.chance(60).then(|| Sum::random(random)))
    }

    fn takes(&self, a: i64, b: i64) -> bool {
        let Clause(left, right, guard) = self;
        left.is_none_or(|left| left == a)
            && right.is_none_or(|right| right == b)
            && guard.as_ref().is_none_or(|guard| guard.at(a, b) > 0)
    }

    fn text(&self) -> String {
        let shown = |literal: Option<i64>| literal.map_or("_".to_owned(), |literal| literal.to_string());
        let guard = self.2.as_ref().map_or(String::new(), |guard| format!(" when {} > 0", guard.text()));
        format!("      {{{}, {}}}{guard} -> 0\n", shown(self.0), shown(self.1))
    }
}

#[test]
fn a_counter_example_that_the_clauses_exclude_is_never_shown() {
    let (mut accepted, mut shown) = (0, 0);
    for seed in 0..500 {
        let mut random = Random::new(seed);
        let clauses: Vec<Clause> = (0..=random.below(4)).map(|_| Clause::random(&mut random)).collect();
        let divisor = Sum::random(&mut random);
        let before: String = clauses.iter().map(Clause::text).collect();
        let last = format!("      _ -> 10 / {}\n", divisor.text());
        let code =
            format!("module T do\n  def f(a: Int, b: Int): Int =\n    match {{a, b}} do\n{before}{last}    end\nend\n");
        let is_example = |a: i64, b: i64| divisor.at(a, b) == 0 && !clauses.iter().any(|clause| clause.takes(a, b));
        let compiled = compile(&code, &NoSources);
        let error = compiled.diagnostics.iter().find(|one| one.is_error());
        let Some(error) = error else {
            let passed = TRIED.flat_map(|a| TRIED.map(move |b| (a, b))).find(|(a, b)| is_example(*a, *b));
            assert_eq!(passed, None, "{code}");
            accepted += 1;
            continue;
        };
        let hint = error.hints.iter().find_map(|hint| hint.strip_prefix("not so when "));
        // What always divides by zero needs no example.
        let always = (divisor.0, divisor.1) == (0, 0);
        let hint = hint.or(always.then_some("")).unwrap_or_else(|| panic!("{error:?}\n{code}"));
        let value = |name: &str| {
            let text = hint.split(", ").find_map(|value| value.strip_prefix(name)?.strip_prefix(" = "));
            text.map(|text| text.parse::<i64>().unwrap())
        };
        // A value that does not matter is not shown.
        let tried = |value: Option<i64>| value.map_or(TRIED, |value| value..=value);
        let holds = tried(value("a")).any(|a| tried(value("b")).any(|b| is_example(a, b)));
        assert!(holds, "{hint}\n{code}");
        shown += 1;
    }
    assert!(accepted > 50 && shown > 50, "{accepted} accepted, {shown} shown");
}
