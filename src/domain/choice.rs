//! What was read out of a reply to a multiple-choice question. Knows nothing of how it is read, nor of keys.

crate::text_enum! {
    /// Why a reply was read as a certain letter, or as none.
    Reason {
        /// Nothing but the label.
        LabelOnly = "label_only",
        /// The text of exactly one option.
        TextExact = "text_exact",
        /// A label and its own text, or the beginning of it.
        LabelText = "label_text",
        /// An answer tag, box or JSON field, or a sentence that names the answer.
        Declared = "declared",
        /// A list in which exactly one label is marked as right.
        VerdictList = "verdict_list",
        /// A label after the repeated question.
        AfterEcho = "after_echo",
        /// What is left after the reply took something back.
        Corrected = "corrected",
        /// The one label that unsure wording prefers.
        Preferred = "preferred",
        /// A label at the start; later ones explain it.
        VerdictFirst = "verdict_first",
        /// A label at the end; earlier ones lead to it.
        VerdictLast = "verdict_last",
        /// The only label that is neither denied nor withdrawn.
        SingleMention = "single_mention",
        /// The only option whose text is affirmed.
        Text = "text",
        /// The place of an option, such as "the second option".
        Ordinal = "ordinal",
        /// No letter: nothing but punctuation.
        Empty = "empty",
        /// No letter: a service error or a null marker in the place of a reply.
        InfraError = "infra_error",
        /// No letter: the reply ends inside its reasoning.
        ReasoningUnclosed = "reasoning_unclosed",
        /// No letter: the field for the answer is empty.
        EmptyField = "empty_field",
        /// No letter: two or more labels, none of them preferred.
        Multiple = "multiple",
        /// No letter: every label.
        Stuffing = "stuffing",
        /// No letter: a label with the text of another option.
        ConflictLabelText = "conflict_label_text",
        /// No letter: declarations differ and none is taken back.
        ConflictingDeclarations = "conflicting_declarations",
        /// No letter: only the repeated question.
        EchoOnly = "echo_only",
        /// No letter: the choice hangs on an open condition.
        Conditional = "conditional",
        /// No letter: several labels held equally possible.
        Hedge = "hedge",
        /// No letter: labels are only ruled out.
        OnlyRejections = "only_rejections",
        /// No letter: the chosen label is not among the options.
        OutOfRange = "out_of_range",
        /// No letter: the texts of several options.
        MultipleText = "multiple_text",
        /// No letter: every option is refused.
        NoneOfAbove = "none_of_above",
        /// No letter: an apology or inability.
        Refusal = "refusal",
        /// No letter: text for the grader, or a pointer to the key.
        Injection = "injection",
        /// No letter: nothing in the reply points to an option.
        NoSignal = "no_signal",
    }
}

/// The option that a reply chooses, never a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct Choice {
    /// The label of the option, `A` to `Z`; none where the reply does not choose exactly one.
    pub letter: Option<char>,
    /// The rule that decided.
    pub reason: Reason,
}

impl Choice {
    /// A reply that chooses `letter`.
    pub const fn letter(letter: char, reason: Reason) -> Choice {
        Choice { letter: Some(letter), reason }
    }

    /// A reply that chooses nothing.
    pub const fn none(reason: Reason) -> Choice {
        Choice { letter: None, reason }
    }
}
