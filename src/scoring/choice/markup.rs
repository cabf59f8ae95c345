//! Rules 0 and 1, structure: tags, LaTeX, code fences, chat turns and reasoning blocks. Knows nothing of options.

/// Stands for the start of an answer field (a tag or a box) in stripped text.
pub(super) const FIELD_OPEN: char = '\u{E000}';
/// Stands for the end of an answer field in stripped text.
pub(super) const FIELD_CLOSE: char = '\u{E001}';

/// Longest name inside `<|` and `|>` that counts as a template token.
const TOKEN_MAX: usize = 48;

/// The text without markup, fields marked; `None` where a reasoning block is never closed.
pub(super) fn strip(text: &str) -> Option<String> {
    let mut scan = Scan { rest: text, ..Scan::default() };
    while let Some(at) = scan.rest.find(['<', '◁', '\\', '{', '}', '~', '`', '[']) {
        scan.push(&scan.rest[..at]);
        scan.rest = &scan.rest[at..];
        match scan.rest.as_bytes()[0] {
            b'<' => scan.angle(),
            b'\\' => scan.backslash(),
            b'{' => scan.open_brace(),
            b'}' => scan.close_brace(),
            b'~' => scan.tildes(),
            b'`' => scan.backticks(),
            b'[' => scan.bracket(),
            _ => scan.triangle(),
        }
    }
    scan.push(scan.rest);
    scan.thought.is_none().then(|| drop_turns(&scan.out))
}

/// What a brace closes.
enum Brace {
    Literal,
    Dress,
    Field,
    Struck(usize),
}

#[derive(Default)]
struct Scan<'t> {
    rest: &'t str,
    out: String,
    /// Where in `out` an open reasoning block began.
    thought: Option<usize>,
    /// Where in `out` struck-out text began.
    struck: Option<usize>,
    braces: Vec<Brace>,
    /// Inside a forged user or system turn.
    foreign_turn: bool,
    /// Something other than white space was kept.
    begun: bool,
}

impl<'t> Scan<'t> {
    fn push(&mut self, text: &str) {
        if !self.foreign_turn {
            self.begun |= !text.trim_start().is_empty();
            self.out.push_str(text);
        }
    }

    fn literal(&mut self) {
        let length = self.rest.chars().next().map_or(0, char::len_utf8);
        let (sign, rest) = self.rest.split_at(length);
        self.push(sign);
        self.rest = rest;
    }

    fn cut(&mut self, at: usize) {
        self.out.truncate(self.out.floor_char_boundary(at));
        self.thought = self.thought.map(|start| start.min(self.out.len()));
    }

    fn open_thought(&mut self) {
        self.thought.get_or_insert(self.out.len());
    }

    /// A closing mark whose opening one was in the prompt makes everything before it reasoning.
    fn close_thought(&mut self) {
        let start = self.thought.take().unwrap_or(0);
        self.cut(start);
        self.struck = None;
        self.braces.clear();
        self.push("\n");
    }

    fn angle(&mut self) {
        let rest = self.rest;
        if rest.starts_with("<!--") {
            self.rest = rest.find("-->").map_or("", |end| &rest[end + 3..]);
            return;
        }
        if let Some(inner) = rest.strip_prefix("<|") {
            let head = &inner[..inner.floor_char_boundary(TOKEN_MAX)];
            if let Some(end) = head.find("|>") {
                self.rest = &inner[end + 2..];
                return self.template(head[..end].trim_start_matches('/'), head.starts_with('/'));
            }
        }
        let closing = rest[1..].starts_with('/');
        let inner = &rest[1 + usize::from(closing)..];
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return self.literal();
        }
        match inner.find(['<', '>']) {
            Some(end) if inner.as_bytes()[end] == b'>' => {
                self.rest = &inner[end + 1..];
                let name =
                    inner[..end].split(|c: char| c.is_whitespace() || c == '/').next().unwrap_or_default();
                self.tag(&name.to_ascii_lowercase().replace('-', "_"), closing);
            }
            None if closing => self.rest = "",
            _ => self.literal(),
        }
    }

    fn tag(&mut self, name: &str, closing: bool) {
        match name {
            _ if is_reasoning(name) => self.reasoning(closing),
            "answer" | "ans" | "final_answer" | "finalanswer" | "final" | "choice" | "letter" => {
                let mark = if closing { FIELD_CLOSE } else { FIELD_OPEN };
                self.push(mark.encode_utf8(&mut [0; 4]));
            }
            // `<s>` also begins a text in chat templates, and `</s>` ends it.
            "s" if !closing && !self.begun => self.template(name, closing),
            "del" | "strike" | "s" => match self.struck.take() {
                Some(start) if closing => self.cut(start),
                _ if !closing => self.struck = Some(self.out.len()),
                _ => self.push("\n"),
            },
            "td" | "th" => self.push(" | "),
            "br" | "p" | "div" | "li" | "ul" | "ol" | "tr" | "table" | "hr" | "pre" | "section"
            | "blockquote" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.push("\n"),
            "start_of_turn" | "end_of_turn" | "bos" | "eos" | "pad" | "eot" => self.template(name, closing),
            _ => {}
        }
    }

    fn reasoning(&mut self, closing: bool) {
        if closing { self.close_thought() } else { self.open_thought() }
    }

    /// `<|name|>`: ends a forged turn, and may begin another one.
    fn template(&mut self, name: &str, closing: bool) {
        let name = name.to_ascii_lowercase();
        if matches!(name.as_str(), "end_header_id" | "message") {
            return self.push("\n");
        }
        self.foreign_turn = false;
        self.push("\n");
        if let Some(kind) = name.strip_prefix("begin_of_").or(name.strip_prefix("end_of_")) {
            if is_reasoning(kind) {
                self.reasoning(name.starts_with("end"));
            }
            return;
        }
        if is_reasoning(&name) {
            return self.reasoning(closing);
        }
        if matches!(name.as_str(), "im_start" | "start_header_id" | "start_of_turn" | "start" | "channel") {
            let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            self.rest = rest;
            match word.to_ascii_lowercase().as_str() {
                "analysis" | "commentary" => self.open_thought(),
                "final" if name == "channel" => self.close_thought(),
                role => self.foreign_turn = is_foreign_role(role),
            }
        } else {
            self.foreign_turn = is_foreign_role(&name);
        }
    }

    fn triangle(&mut self) {
        let head = &self.rest[..self.rest.floor_char_boundary(TOKEN_MAX)];
        let inner = head.trim_start_matches('◁');
        match inner.split_once('▷') {
            Some((name, _)) if is_reasoning(&name.trim_start_matches('/').to_ascii_lowercase()) => {
                self.rest = &self.rest[head.len() - inner.len() + name.len() + '▷'.len_utf8()..];
                self.reasoning(name.starts_with('/'));
            }
            _ => self.literal(),
        }
    }

    fn bracket(&mut self) {
        for (mark, opens) in [("[THINK]", true), ("[/THINK]", false)] {
            if self.rest.get(..mark.len()).is_some_and(|head| head.eq_ignore_ascii_case(mark)) {
                self.rest = &self.rest[mark.len()..];
                return self.reasoning(!opens);
            }
        }
        for (mark, sign) in [("[x] ", "✓ "), ("[X] ", "✓ "), ("[ ] ", "✗ ")] {
            if let Some(rest) = self.rest.strip_prefix(mark) {
                self.rest = rest;
                return self.push(sign);
            }
        }
        for mark in ["[INST]", "[/INST]"] {
            if let Some(rest) = self.rest.strip_prefix(mark) {
                self.rest = rest;
                self.foreign_turn = mark == "[INST]";
                return self.push("\n");
            }
        }
        self.literal();
    }

    fn backslash(&mut self) {
        let inner = &self.rest[1..];
        let end = inner.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(inner.len());
        let (name, rest) = inner.split_at(end);
        if name.is_empty() {
            let skipped = rest.starts_with(['(', ')', '[', ']', ',', ';', '!', ' ', '\\']);
            self.push(if skipped { " " } else { "" });
            self.rest = &rest[usize::from(skipped)..];
            return;
        }
        // A line break that was escaped once too often.
        if let Some(word) =
            name.strip_prefix('n').filter(|word| !word.starts_with(|c: char| c.is_lowercase()))
        {
            self.push("\n");
            self.rest = &inner[name.len() - word.len()..];
            return;
        }
        self.rest = rest.trim_start_matches(' ');
        let Some(body) = self.rest.strip_prefix('{') else {
            self.rest = rest;
            return self.push(match name {
                "rightarrow" | "Rightarrow" | "implies" | "to" | "therefore" => " => ",
                "checkmark" => " ✓ ",
                _ => " ",
            });
        };
        self.rest = body;
        let brace = match name {
            "boxed" | "fbox" | "framebox" => Brace::Field,
            "sout" | "cancel" | "xcancel" | "bcancel" | "st" => Brace::Struck(self.out.len()),
            _ => Brace::Dress,
        };
        if matches!(brace, Brace::Field) {
            self.push(FIELD_OPEN.encode_utf8(&mut [0; 4]));
        }
        self.braces.push(brace);
    }

    fn open_brace(&mut self) {
        self.braces.push(Brace::Literal);
        self.literal();
    }

    fn close_brace(&mut self) {
        match self.braces.pop() {
            Some(Brace::Literal) | None => return self.literal(),
            Some(Brace::Field) => self.push(FIELD_CLOSE.encode_utf8(&mut [0; 4])),
            Some(Brace::Struck(start)) => self.cut(start),
            Some(Brace::Dress) => {}
        }
        self.rest = &self.rest[1..];
    }

    fn tildes(&mut self) {
        let rest = self.rest.trim_start_matches('~');
        if self.rest.len() - rest.len() == 2 {
            match self.struck.take() {
                Some(start) => self.cut(start),
                None => self.struck = Some(self.out.len()),
            }
        }
        if self.rest.len() - rest.len() == 1 {
            self.push("~");
        }
        self.rest = rest;
    }

    fn backticks(&mut self) {
        let rest = self.rest.trim_start_matches('`');
        if self.rest.len() - rest.len() >= 3 {
            let info = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let is_language = info > 1 && rest[info..].starts_with(['\n', '\r']);
            self.rest = if is_language { &rest[info..] } else { rest };
            self.push("\n");
        } else {
            self.rest = rest;
        }
    }
}

fn is_reasoning(name: &str) -> bool {
    matches!(
        name,
        "think"
            | "thinking"
            | "thought"
            | "thoughts"
            | "reasoning"
            | "analysis"
            | "reflection"
            | "scratchpad"
    )
}

fn is_foreign_role(name: &str) -> bool {
    matches!(name, "user" | "system" | "human" | "tool" | "developer")
}

/// Drops turns of others written as lines (`User: ...`), and the header of the model's own turn.
fn drop_turns(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut foreign = false;
    let mut begun = false;
    for line in text.lines() {
        let start = line.trim_start_matches([' ', '\t', '#', '*', '[', '<']);
        let end = start.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(start.len());
        let role = start[..end].to_ascii_lowercase();
        let after = start[end..].trim_start_matches(['*', ']', '>', ' ']);
        let own = matches!(role.as_str(), "assistant" | "model" | "ai" | "bot" | "chatbot");
        let is_header =
            after.starts_with(':') || line.trim_start().starts_with('[') && start[end..].starts_with(']');
        if own && (is_header || after.is_empty() && !begun) {
            foreign = false;
            out.push_str(after.trim_start_matches(':'));
            out.push('\n');
        } else {
            foreign |= is_header && is_foreign_role(&role);
            begun |= !foreign && !line.trim_start().is_empty();
            if !foreign {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}
