//! Which paths a Rust source names, and on which line: enough of a reader to hold the floors, no more. Knows no rule.
//!
//! Comments, texts and modules under `#[cfg(test)]` are passed over. `super` and `self` are resolved, and a tree of
//! imports gives one path a leaf.

/// A path as written, in full: `["crate", "domain", "question", "Split"]` or `["std", "env", "var"]`.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedPath {
    /// Line, from 1.
    pub line: usize,
    /// Its segments; the first is `crate` for one of this crate's.
    pub segments: Vec<String>,
}

/// All paths of at least two segments in `source`, the text of the module `module`.
pub fn paths(module: &[String], source: &str) -> Vec<NamedPath> {
    let mut reader = Reader { tokens: tokens(source), at: 0, module: module.to_vec(), found: Vec::new() };
    reader.items(false);
    reader.found
}

/// Words after which a path may begin with `::`.
const BEFORE_PATHS: [&str; 8] = ["use", "as", "in", "dyn", "impl", "mut", "return", "for"];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Colons,
    Sign(char),
}

struct Reader {
    tokens: Vec<(usize, Token)>,
    at: usize,
    /// The module that the reader stands in.
    module: Vec<String>,
    found: Vec<NamedPath>,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|(_, token)| token)
    }

    fn is(&self, ahead: usize, sign: char) -> bool {
        self.peek(ahead) == Some(&Token::Sign(sign))
    }

    fn word(&self, ahead: usize) -> Option<&str> {
        match self.peek(ahead) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Reads up to the brace that closes what the reader is in, or to the end.
    fn items(&mut self, of_test: bool) {
        let mut test_next = false;
        while let Some(token) = self.peek(0).cloned() {
            match token {
                Token::Sign('}') => {
                    self.at += 1;
                    return;
                }
                Token::Sign('{') => {
                    self.at += 1;
                    self.items(of_test);
                }
                Token::Sign('#') if self.is_cfg_test() => {
                    self.at += 7;
                    test_next = true;
                }
                Token::Word(word) if word == "mod" && self.word(1).is_some() && self.is(2, '{') => {
                    let name = self.word(1).unwrap_or_default().to_owned();
                    self.at += 3;
                    self.module.push(name);
                    self.items(of_test || test_next);
                    self.module.pop();
                    test_next = false;
                }
                // `use ::name` and the like: the word is no part of the path.
                Token::Word(word) if BEFORE_PATHS.contains(&word.as_str()) => self.at += 1,
                Token::Word(_) => self.path(Vec::new(), of_test),
                _ => self.at += 1,
            }
        }
    }

    /// `#[cfg(test)]`
    fn is_cfg_test(&self) -> bool {
        self.is(1, '[')
            && self.word(2) == Some("cfg")
            && self.is(3, '(')
            && self.word(4) == Some("test")
            && self.is(5, ')')
    }

    /// Reads a path or a tree of paths that begins with `prefix`.
    fn path(&mut self, mut prefix: Vec<String>, of_test: bool) {
        let line = self.tokens[self.at].0;
        while let Some(Token::Word(word)) = self.peek(0).cloned() {
            prefix.push(word);
            self.at += 1;
            if self.peek(0) != Some(&Token::Colons) {
                break;
            }
            self.at += 1;
        }
        if self.is(0, '{') && self.at > 0 && self.tokens[self.at - 1].1 == Token::Colons {
            self.at += 1;
            while self.at < self.tokens.len() && !self.is(0, '}') {
                match self.peek(0) {
                    Some(Token::Word(word)) if word == "as" => self.at += 2,
                    Some(Token::Word(_)) => self.path(prefix.clone(), of_test),
                    _ => self.at += 1,
                }
            }
            self.at += 1;
        } else if prefix.len() > 1 && !of_test {
            let segments = self.resolved(prefix);
            self.found.push(NamedPath { line, segments });
        }
    }

    fn resolved(&self, path: Vec<String>) -> Vec<String> {
        if path[0] != "self" && path[0] != "super" {
            return path;
        }
        let climbs = path.iter().take_while(|segment| *segment == "super").count();
        let home = &self.module[..self.module.len().saturating_sub(climbs)];
        let rest = path.iter().filter(|segment| *segment != "super" && *segment != "self");
        std::iter::once("crate")
            .chain(home.iter().map(String::as_str))
            .map(str::to_owned)
            .chain(rest.cloned())
            .collect()
    }
}

/// Words and signs of a source with their lines; comments, texts and characters are left out.
fn tokens(source: &str) -> Vec<(usize, Token)> {
    let chars: Vec<char> = source.chars().collect();
    let (mut at, mut line, mut tokens) = (0, 1, Vec::new());
    while at < chars.len() {
        let start = at;
        let first = chars[at];
        if first.is_alphanumeric() || first == '_' {
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                at += 1;
            }
            let word: String = chars[start..at].iter().collect();
            let raw_text =
                matches!(word.as_str(), "r" | "br" | "cr") && matches!(chars.get(at), Some('"' | '#'));
            if raw_text && chars[at..].iter().find(|c| **c != '#') == Some(&'"') {
                at = after_raw_text(&chars, at);
            } else if !word.starts_with(|c: char| c.is_ascii_digit()) {
                tokens.push((line, Token::Word(word)));
            }
        } else if chars[at..].starts_with(&['/', '/']) {
            at += chars[at..].iter().take_while(|c| **c != '\n').count();
        } else if chars[at..].starts_with(&['/', '*']) {
            at = after_comment(&chars, at);
        } else if first == '"' {
            at = after_text(&chars, at, '"');
        } else if first == '\'' && (chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'')) {
            at = after_text(&chars, at, '\'');
        } else if chars[at..].starts_with(&[':', ':']) {
            at += 2;
            tokens.push((line, Token::Colons));
        } else {
            at += 1;
            if !first.is_whitespace() {
                tokens.push((line, Token::Sign(first)));
            }
        }
        line += chars[start..at.min(chars.len())].iter().filter(|c| **c == '\n').count();
    }
    tokens
}

fn after_text(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start + 1;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn after_raw_text(chars: &[char], start: usize) -> usize {
    let hashes = chars[start..].iter().take_while(|c| **c == '#').count();
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let mut at = start + hashes + 1;
    while at < chars.len() && !chars[at..].starts_with(&end) {
        at += 1;
    }
    at + end.len()
}

fn after_comment(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < chars.len() {
        if chars[at..].starts_with(&['/', '*']) {
            (at, depth) = (at + 2, depth + 1);
        } else if chars[at..].starts_with(&['*', '/']) {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::paths;

    fn named(module: &[&str], source: &str) -> Vec<(usize, String)> {
        let module: Vec<String> = module.iter().map(|segment| (*segment).to_owned()).collect();
        paths(&module, source).into_iter().map(|path| (path.line, path.segments.join("::"))).collect()
    }

    #[test]
    fn a_tree_gives_each_of_its_leaves_on_its_line() {
        let source = "use crate::{\n    domain::question::{Split, Rubric},\n    web as pages,\n};\nuse ::redis::Client;";
        let expected = [
            (2, "crate::domain::question::Split"),
            (2, "crate::domain::question::Rubric"),
            (3, "crate::web"),
            (5, "redis::Client"),
        ];
        assert_eq!(named(&[], source), expected.map(|(line, path)| (line, path.to_owned())));
    }

    #[test]
    fn super_and_self_are_resolved_also_within_a_module_of_the_file() {
        let source = "use super::super::store::Store;\nmod inner { use super::Thing; }\nuse self::own::Part;";
        let expected = [(1, "crate::store::Store"), (2, "crate::a::b::Thing"), (3, "crate::a::b::own::Part")];
        assert_eq!(named(&["a", "b"], source), expected.map(|(line, path)| (line, path.to_owned())));
    }

    #[test]
    fn comments_texts_characters_and_tests_are_passed_over() {
        let source = "// a::b\n/* c::d /* e::f */ */ let x: &'static str = \"g::h\\\"i::j\"; let y = '\"'; k::l();\n\
                      let z = r#\"m::n\"#;\n#[cfg(test)]\nmod tests { use o::p; fn f() { q::r(); } }\ns::t();";
        assert_eq!(named(&[], source), [(2, "k::l".to_owned()), (6, "s::t".to_owned())]);
    }
}
