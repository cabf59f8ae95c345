//! Any text as LaTeX that prints it, in every engine and font encoding. Knows nothing of tables.

use unicode_normalization::UnicodeNormalization as _;

use super::on_one_line;

/// Defines what stands for a character that pdfLaTeX's ordinary fonts lack: its number, unless a document with fitting fonts
/// defines it beforehand to print the second argument, the character itself.
pub const FALLBACK: &str = r"\providecommand{\unicodechar}[2]{[U+#1]}";

/// Characters of what stands for a character that is named by its number, `[U+1F41F]`.
const FALLBACK_WIDTH: usize = 9;

/// The text as LaTeX, on one line.
pub fn escaped(text: &str) -> String {
    let mut latex = String::with_capacity(text.len());
    let mut before = None;
    for c in on_one_line(text).nfc() {
        // Two of these would join into another sign.
        if before == Some(c) && "-,'".contains(c) {
            latex.push_str("{}");
        }
        before = Some(c);
        match printed(c) {
            Some(command) => latex.push_str(&command),
            None => latex.push_str(&format!("\\unicodechar{{{:04X}}}{{{c}}}", u32::from(c))),
        }
    }
    latex
}

/// The text as LaTeX in lines of at most so many printed characters, broken between words where there are any.
pub fn escaped_lines(text: &str, width: usize) -> Vec<String> {
    let text: String = on_one_line(text).nfc().collect();
    let widths =
        |text: &str| text.chars().map(|c| if printed(c).is_some() { 1 } else { FALLBACK_WIDTH }).sum();
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let used: usize = lines.last().map_or(0, |line| widths(line));
        if used + widths(word.trim_end()) > width && used > 0 {
            lines.push(String::new());
        }
        for c in word.chars() {
            let used: usize = lines.last().map_or(0, |line| widths(line));
            if used >= width && c != ' ' {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
    lines.iter().map(|line| escaped(line)).filter(|line| !line.is_empty()).collect()
}

/// How a character is written; none if its number must stand for it.
fn printed(c: char) -> Option<String> {
    match sign(c) {
        Some(sign) => Some(sign.to_owned()),
        None if c.is_ascii() => Some(c.to_string()),
        None => accented(c),
    }
}

/// The command that prints a sign, if it needs one.
fn sign(c: char) -> Option<&'static str> {
    Some(match c {
        '\\' => r"\textbackslash{}",
        // Not `\{`: BibTeX counts that brace too.
        '{' => r"\textbraceleft{}",
        '}' => r"\textbraceright{}",
        '$' => r"\$",
        '&' => r"\&",
        '#' => r"\#",
        '%' => r"\%",
        '_' => r"\_",
        '^' => r"\textasciicircum{}",
        '~' => r"\textasciitilde{}",
        '`' => r"\textasciigrave{}",
        '"' => "''",
        '<' => r"\textless{}",
        '>' => r"\textgreater{}",
        '|' => r"\textbar{}",
        // After the end of a line, these would be read as arguments of it.
        '[' => "{[}",
        '*' => "{*}",
        '\u{a0}' => "~",
        '\u{2010}' | '\u{2011}' => "-",
        '–' => "--",
        '—' => "---",
        '−' => "$-$",
        '‘' => "`",
        '’' => "'",
        '“' => "``",
        '”' => "''",
        '…' => r"\ldots{}",
        '•' => r"\textbullet{}",
        '·' => r"$\cdot$",
        '×' => r"$\times$",
        '±' => r"$\pm$",
        '≈' => r"$\approx$",
        '≤' => r"$\leq$",
        '≥' => r"$\geq$",
        '→' => r"$\rightarrow$",
        '∞' => r"$\infty$",
        '°' => r"$^{\circ}$",
        '²' => "$^{2}$",
        '³' => "$^{3}$",
        '§' => r"\S{}",
        '©' => r"\copyright{}",
        '®' => r"\textregistered{}",
        '™' => r"\texttrademark{}",
        'ß' => r"\ss{}",
        'æ' => r"\ae{}",
        'Æ' => r"\AE{}",
        'œ' => r"\oe{}",
        'Œ' => r"\OE{}",
        'ø' => r"\o{}",
        'Ø' => r"\O{}",
        'ł' => r"\l{}",
        'Ł' => r"\L{}",
        'ı' => r"\i{}",
        _ => return greek(c),
    })
}

fn greek(c: char) -> Option<&'static str> {
    Some(match c {
        'α' => r"$\alpha$",
        'β' => r"$\beta$",
        'γ' => r"$\gamma$",
        'δ' => r"$\delta$",
        'ε' => r"$\varepsilon$",
        'ζ' => r"$\zeta$",
        'η' => r"$\eta$",
        'θ' => r"$\theta$",
        'κ' => r"$\kappa$",
        'λ' => r"$\lambda$",
        'μ' | 'µ' => r"$\mu$",
        'ν' => r"$\nu$",
        'ξ' => r"$\xi$",
        'π' => r"$\pi$",
        'ρ' => r"$\rho$",
        'σ' => r"$\sigma$",
        'τ' => r"$\tau$",
        'φ' => r"$\varphi$",
        'χ' => r"$\chi$",
        'ψ' => r"$\psi$",
        'ω' => r"$\omega$",
        'Γ' => r"$\Gamma$",
        'Δ' => r"$\Delta$",
        'Θ' => r"$\Theta$",
        'Λ' => r"$\Lambda$",
        'Π' => r"$\Pi$",
        'Σ' => r"$\Sigma$",
        'Φ' => r"$\Phi$",
        'Ψ' => r"$\Psi$",
        'Ω' => r"$\Omega$",
        _ => return None,
    })
}

/// A Latin letter with one or two accents.
fn accented(c: char) -> Option<String> {
    let mut parts = std::iter::once(c).nfd();
    let letter = parts.next().filter(char::is_ascii_alphabetic)?;
    let accents: Vec<&str> = parts.map(accent).collect::<Option<_>>()?;
    let nested = |letter: String, accent: &&str| format!("{accent}{{{letter}}}");
    (1..=2).contains(&accents.len()).then(|| accents.iter().fold(letter.to_string(), nested))
}

fn accent(mark: char) -> Option<&'static str> {
    Some(match mark {
        '\u{300}' => r"\`",
        '\u{301}' => r"\'",
        '\u{302}' => r"\^",
        '\u{303}' => r"\~",
        '\u{304}' => r"\=",
        '\u{306}' => r"\u",
        '\u{307}' => r"\.",
        '\u{308}' => "\\\"",
        '\u{30a}' => r"\r",
        '\u{30b}' => r"\H",
        '\u{30c}' => r"\v",
        '\u{323}' => r"\d",
        '\u{327}' => r"\c",
        '\u{331}' => r"\b",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_sign_of_latex_prints_itself() {
        assert_eq!(
            escaped(r"a & b % c $ d # e _ f { g } h ~ i ^ j \ k"),
            r"a \& b \% c \$ d \# e \_ f \textbraceleft{} g \textbraceright{} h \textasciitilde{} i \textasciicircum{} j \textbackslash{} k"
        );
        assert_eq!(
            escaped("\\input{/etc/passwd}"),
            r"\textbackslash{}input\textbraceleft{}/etc/passwd\textbraceright{}"
        );
        assert_eq!(escaped("[2pt] *"), "{[}2pt] {*}");
        assert_eq!(escaped("a--b ``c''"), r"a-{}-b \textasciigrave{}\textasciigrave{}c'{}'");
    }

    #[test]
    fn signs_beyond_ascii_are_commands_or_named_by_number() {
        assert_eq!(escaped("10–20 Å π₀"), r"10--20 \r{A} $\pi$\unicodechar{2080}{₀}");
        assert_eq!(escaped("ấ"), r"\'{\^{a}}");
        assert_eq!(escaped("海"), r"\unicodechar{6D77}{海}");
        assert_eq!(escaped("a\nb\u{202e}c"), "a bc");
    }

    #[test]
    fn a_long_name_is_broken_between_words() {
        assert_eq!(escaped_lines("a long name of a model", 8), ["a long", "name of", "a model"]);
        assert_eq!(escaped_lines("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(escaped_lines("海海 ab", 18).len(), 2);
        assert_eq!(escaped_lines("  ", 3), Vec::<String>::new());
    }

    proptest! {
        /// What is left after the commands that this room writes holds no sign that LaTeX takes for its own.
        #[test]
        fn no_text_leaves_a_bare_sign(text in "\\PC{0,40}|[\\\\{}$&#%_^~\\[*\"<>|`a-z \\n-]{0,40}") {
            let latex = escaped(&text);
            let mut chars = latex.chars().peekable();
            let mut depth = 0_i32;
            let mut math = false;
            while let Some(c) = chars.next() {
                match c {
                    '\\' => {
                        let next = chars.next();
                        prop_assert!(next.is_some_and(|c| c.is_ascii_alphabetic() || "{}$&#%_`'^~=.\"".contains(c)), "{}", latex);
                    }
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    '$' => math = !math,
                    '^' => prop_assert!(math, "{}", latex),
                    '&' | '#' | '%' | '_' | '\n' => prop_assert!(false, "{}", latex),
                    _ => {}
                }
                prop_assert!(depth >= 0, "{}", latex);
            }
            prop_assert!(depth == 0 && !math, "{}", latex);
        }
    }
}
