//! A judge that answers from a script, for tests of whatever judges; it makes no call.
//! Knows nothing of prompts, HTTP or the other judges.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use super::{Asked, Asking, Failure, Item, Judge, PauseCause, Verdict};

type Script = Box<dyn Fn(&Item<'_>) -> Result<Verdict, Failure> + Send + Sync>;

/// Answers from a queue or a closure and remembers what it was asked.
pub struct ScriptedJudge {
    script: Script,
    asked: Mutex<Vec<String>>,
}

impl ScriptedJudge {
    /// Answers each call by `script`.
    pub fn new(
        script: impl Fn(&Item<'_>) -> Result<Verdict, Failure> + Send + Sync + 'static,
    ) -> ScriptedJudge {
        ScriptedJudge { script: Box::new(script), asked: Mutex::default() }
    }

    /// Answers the calls by `outcomes` in turn, and is out of reach afterwards.
    pub fn in_turn(outcomes: impl IntoIterator<Item = Result<Verdict, Failure>>) -> ScriptedJudge {
        let queue: Mutex<VecDeque<_>> = Mutex::new(outcomes.into_iter().collect());
        ScriptedJudge::new(move |_| {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| {
                Err(Failure::Pause {
                    cause: PauseCause::CircuitOpen,
                    detail: "the script has ended".to_owned(),
                })
            })
        })
    }

    /// A verdict of these scores by the model `scripted`, without explanations.
    pub fn verdict(scores: [u8; 3]) -> Verdict {
        Verdict { scores, explanations: [const { None }; 3], model: "scripted".to_owned() }
    }

    /// The question ids of all calls so far, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Judge for ScriptedJudge {
    fn judge<'a>(&'a self, item: &'a Item<'a>, _: Asking) -> BoxFuture<'a, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(item.question_id.to_owned());
        ready(Asked::free((self.script)(item))).boxed()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::domain::question::Rubric;

    #[test]
    fn a_script_is_followed_in_turn_and_its_end_is_no_score() {
        let judge = ScriptedJudge::in_turn([Ok(ScriptedJudge::verdict([1, 2, 3]))]);
        let evidence = Map::new();
        let item = Item {
            question_id: "q",
            rubric: Rubric::Oemu,
            question: "",
            reference: "",
            evidence: &evidence,
            answer: "a",
        };
        let ask = || judge.judge(&item, Asking::to_the_end()).now_or_never().unwrap().result;
        assert_eq!(ask().unwrap().scores, [1, 2, 3]);
        assert!(matches!(ask(), Err(Failure::Pause { cause: PauseCause::CircuitOpen, .. })));
        assert_eq!(judge.asked(), ["q", "q"]);
    }
}
