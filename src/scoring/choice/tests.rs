//! Tests of reading a letter: the cases of the specification and its laws.

use proptest::prelude::*;

use super::*;
use crate::domain::question::QuestionOption;
use crate::scoring::thread_time;

const SEA: [&str; 4] = ["green sea turtle", "spotted eagle ray", "giant clam", "moray eel"];

#[derive(serde::Deserialize)]
struct Case {
    id: String,
    options: serde_json::Map<String, serde_json::Value>,
    response: String,
    expected: Option<char>,
    kind: String,
}

fn cases() -> Vec<Case> {
    let corpus = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcq_cases.jsonl"));
    corpus.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn option_set(texts: &[&str]) -> OptionSet {
    let label = |index: usize| char::from(b'A' + index as u8).to_string();
    let option =
        |(index, text): (usize, &&str)| QuestionOption { label: label(index), text: (*text).to_owned() };
    OptionSet::new(&texts.iter().enumerate().map(option).collect::<Vec<_>>())
}

fn set_of(case: &Case) -> OptionSet {
    option_set(&case.options.values().map(|text| text.as_str().unwrap()).collect::<Vec<_>>())
}

/// Asserts the letter of every reply to the question about the sea animals; `-` stands for none.
fn assert_read(letter: char, replies: &[&str]) {
    let options = option_set(&SEA);
    for reply in replies {
        let read = read_choice(&options, reply);
        assert_eq!(read.letter, Some(letter).filter(|&c| c != '-'), "{reply:?}: {}", read.reason);
    }
}

#[test]
fn the_cases_of_the_corpus_are_read_as_expected() {
    let mut wrong = Vec::new();
    for case in cases() {
        let read = read_choice(&set_of(&case), &case.response);
        if read.letter != case.expected {
            let shown: String = case.response.chars().take(160).collect();
            wrong.push(format!("{} {} {shown:?}: {read:?}, not {:?}", case.id, case.kind, case.expected));
        }
    }
    assert!(wrong.is_empty(), "{} disagree:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn dress_around_the_one_label_changes_nothing() {
    let replies = [
        "B",
        "(b)",
        "<B>",
        "**B**.",
        "“B”",
        "［Ｂ］",
        "🅱️",
        "🇧",
        "В",
        "&lt;B&gt;",
        "\u{200b}B",
        "\\text{(B)}",
    ];
    assert_read('B', &replies);
    for reply in replies {
        assert_eq!(read_choice(&option_set(&SEA), reply).reason, Reason::LabelOnly, "{reply}");
    }
}

#[test]
fn a_negated_letter_is_not_chosen() {
    assert_read(
        '-',
        &["Not B.", "The answer is not A.", "It isn't C.", "A is wrong.", "I would rule out B."],
    );
    assert_read(
        'D',
        &["It isn't A. It's D.", "Not A, D.", "D rather than A", "Unlike A, D has a long body."],
    );
    assert_read('D', &["A, B and C can be ruled out. D remains.", "Neither A nor B nor C fits; D does."]);
}

#[test]
fn a_correction_beats_what_it_corrects() {
    assert_read(
        'D',
        &["Answer: A. Wait, I misread. Answer: D", "A... no, D", "A. Sorry, I meant D.", "~~A~~ D"],
    );
    assert_read(
        'D',
        &["<answer>A</answer> Actually: <answer>D</answer>", "At first I thought A, but it is D."],
    );
    assert_read('-', &["The answer is A. The answer is D.", "\\boxed{A} \\boxed{D}"]);
}

#[test]
fn an_article_or_a_unit_is_no_label() {
    assert_read(
        '-',
        &["A lot of fish", "Water at 20 °C", "Plan B was used.", "The buoy reads C-17.", "B-roll"],
    );
    assert_read('-', &["A vida marinha aparece.", "Grade: A", "В кадре рыба", "I see nothing"]);
    assert_read('D', &["A moray eel is visible.", "A resposta é D", "Answer: A moray eel"]);
}

#[test]
fn several_letters_are_no_choice() {
    assert_read(
        '-',
        &["A or C", "AC", "A+B", "A, B, C, D", "Both B and C are right.", "<answer>A, B</answer>"],
    );
    assert_read('-', &["If the lamp is on, B; if not, A.", "It depends: A by day, B by night."]);
    assert_read('B', &["Failed to see a shell, so B.", "Torch beam or not, the answer is B."]);
    assert_read('B', &["It could be A, but I'd go with B.", "Between A and B, I prefer B.", "B over A"]);
}

#[test]
fn every_reason_is_given_for_its_kind_of_reply() {
    let options = option_set(&SEA);
    let replies = [
        (Reason::TextExact, "Moray eels!"),
        (Reason::LabelText, "B. spotted eag"),
        (Reason::Declared, "The answer is B."),
        (Reason::VerdictList, "A: no\nB: yes\nC: no\nD: no"),
        (
            Reason::VerdictList,
            "A. green sea turtle\nB. spotted eagle ray (correct)\nC. giant clam\nD. moray eel",
        ),
        (
            Reason::VerdictList,
            "- [ ] A. green sea turtle\n- [x] B. spotted eagle ray\n- [ ] C. giant clam\n- [ ] D. moray eel",
        ),
        (Reason::AfterEcho, "A. green sea turtle\nB. spotted eagle ray\nC. giant clam\nD. moray eel\n\nC"),
        (Reason::Corrected, "B — scratch that, D."),
        (Reason::Preferred, "I lean towards C over A."),
        (Reason::VerdictFirst, "B. A has a shell and C has no fins."),
        (Reason::VerdictLast, "A would be flat sand, C would be sessile.\n\nD"),
        (Reason::SingleMention, "B rather than A"),
        (Reason::Text, "I can see a giant clam."),
        (Reason::Ordinal, "The second option."),
        (Reason::Empty, " ... "),
        (Reason::InfraError, "CUDA out of memory. Tried to allocate 2.00 GiB"),
        (Reason::ReasoningUnclosed, "<think>So the answer is B"),
        (Reason::EmptyField, "<answer></answer>"),
        (Reason::Multiple, "A and C"),
        (Reason::Stuffing, "A B C D"),
        (Reason::ConflictLabelText, "B. giant clam"),
        (Reason::ConflictingDeclarations, "The answer is A. The answer is C."),
        (Reason::EchoOnly, "A. green sea turtle\nB. spotted eagle ray\nC. giant clam\nD. moray eel"),
        (Reason::Conditional, "B if it pauses, C if it does not."),
        (Reason::Hedge, "Maybe A, maybe D"),
        (Reason::OnlyRejections, "The answer is not A."),
        (Reason::OutOfRange, "The answer is Z"),
        (Reason::MultipleText, "The giant clam and the moray eel"),
        (Reason::NoneOfAbove, "None of the above"),
        (Reason::Refusal, "I'm sorry, but I cannot see the video."),
        (Reason::Injection, "Same letter as the ground truth."),
        (Reason::NoSignal, "asdf qwer"),
        (Reason::LabelOnly, "b"),
    ];
    for (reason, reply) in replies {
        assert_eq!(read_choice(&options, reply).reason, reason, "{reply:?}");
    }
    assert!(Reason::ALL.iter().all(|reason| replies.iter().any(|(given, _)| given == reason)));
}

#[test]
fn wrapping_a_reply_changes_nothing() {
    for case in cases().iter().filter(|case| case.response.len() < 2_000) {
        // A tag, a fence or a turn of its own ends the wrapping before its end.
        if case.response.contains(['<', '`', '*', '◁']) {
            continue;
        }
        let options = set_of(case);
        let plain = read_choice(&options, &case.response).letter;
        for (before, after) in
            [("  \n", "\n\t"), ("**", "**"), ("`", "`"), ("```\n", "\n```"), ("<think>A or D?</think>", "")]
        {
            let wrapped = format!("{before}{}{after}", case.response);
            assert_eq!(read_choice(&options, &wrapped).letter, plain, "{wrapped:?}");
        }
    }
}

/// Replies that name the options at the places of the braces.
const TEMPLATES: [&str; 14] = [
    "{0}",
    "({0})",
    "The answer is {0}.",
    "Not {1}, but {0}.",
    "{0}, not {1}",
    "{0} or {1}",
    "{1}... wait, no, {0}",
    "<answer>{0}</answer>",
    "{\"answer\": \"{0}\"}",
    "Option {1} is wrong, option {2} too. So {0}.",
    "{0} and {2}",
    "\\boxed{{0}}",
    "If it is dark, {0}, otherwise {1}.",
    "{1} has a shell, {2} is round. Therefore, {0}.",
];

fn fill(template: &str, labels: &[char]) -> String {
    let fill = |reply: String, (place, label): (usize, &char)| {
        reply.replace(&format!("{{{place}}}"), &label.to_string())
    };
    labels.iter().enumerate().fold(template.to_owned(), fill)
}

proptest! {
    #[test]
    fn permuted_labels_permute_the_verdict(
        template in proptest::sample::select(TEMPLATES.to_vec()),
        order in Just(vec!['A', 'B', 'C', 'D']).prop_shuffle(),
    ) {
        let before = read_choice(&option_set(&SEA), &fill(template, &['A', 'B', 'C', 'D']));
        let mut texts = SEA;
        for (label, text) in order.iter().zip(SEA) {
            texts[*label as usize - 'A' as usize] = text;
        }
        let after = read_choice(&option_set(&texts), &fill(template, &order));
        prop_assert_eq!(after.reason, before.reason);
        prop_assert_eq!(after.letter, before.letter.map(|letter| order[letter as usize - 'A' as usize]));
    }

    #[test]
    fn permuted_options_permute_the_text_that_is_chosen(
        text in proptest::sample::select(SEA.to_vec()),
        texts in Just(SEA.to_vec()).prop_shuffle(),
    ) {
        let place = texts.iter().position(|other| *other == text).unwrap();
        let label = Some(char::from(b'A' + place as u8));
        let options = option_set(&texts);
        for reply in [text.to_owned(), text.to_uppercase(), format!("I can see a {text}."), format!("It is the {text}s")] {
            prop_assert_eq!(read_choice(&options, &reply).letter, label);
        }
    }

    #[test]
    fn any_text_is_read_alike_twice_and_scores_for_one_label_at_most(
        reply in "([A-E]|a|\\PC|[ .,:;?!()<>/{}\\[\\]|*~`\"'\\\\&\n]|answer|not |wait|think|<think>|</s>|<\\|im_start\\|>|giant clam|if |or ){0,40}",
    ) {
        let options = option_set(&SEA);
        let read = read_choice(&options, &reply);
        prop_assert_eq!(read_choice(&options, &reply), read);
        prop_assert!(read.letter.is_none_or(|letter| ('A'..='D').contains(&letter)));
    }
}

#[test]
fn time_grows_linearly_with_hostile_text() {
    let options = option_set(&SEA);
    let units = [
        "<think>",
        "</think>",
        "<answer>",
        "<a",
        "<!--",
        "<|",
        "<s>",
        "~~",
        "\\boxed{",
        "}",
        "[",
        "A ",
        "A. ",
        "not A ",
        "wait A ",
        "\"answer\": \"",
        "\"answer\": [",
        "answer = ",
        "green sea ",
        "A. green sea turtle ",
        "assistant\n",
        "user:",
        " ",
        "\n",
        "&",
        "a\u{301}\u{316}",
        "答案",
        "\u{FDFA}",
        "option ",
        "(",
        "if A or ",
        "A1",
    ];
    for unit in units {
        let time = |length: usize| {
            let text = unit.repeat(length / unit.len());
            let once = || {
                let start = thread_time();
                std::hint::black_box(read_choice(&options, &text));
                (thread_time() - start).as_secs_f64()
            };
            // The fastest of a few: others at the same caches only make it slower.
            (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
        };
        let (short, long) = (time(1 << 14), time(1 << 18));
        // Sixteen times the text takes 16 times as long, and 256 times where time grows as the square does.
        assert!(long < 64.0 * short.max(0.001), "{unit:?}: {short} s, then {long} s");
    }
}
