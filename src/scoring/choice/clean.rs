//! Rule 0, signs: entities, invisible signs, compatibility letters. Knows nothing of markup or options.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Longest entity that is decoded, `&` and `;` not counted.
const ENTITY_MAX: usize = 8;

/// The text with entities decoded, invisible signs dropped, and letters and quotes in their plain form.
pub(in crate::scoring) fn plain_signs(text: &str) -> Cow<'_, str> {
    let decoded = decode_entities(text);
    if decoded.is_ascii() {
        return decoded;
    }
    let kept = decoded.chars().filter(|&c| !is_invisible(c)).map(plain_letter);
    Cow::Owned(kept.nfkc().map(plain_quote).collect())
}

fn decode_entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let head = &rest[..rest.floor_char_boundary(ENTITY_MAX + 1)];
        match head.find(';').and_then(|end| Some((entity(&head[..end])?, end))) {
            Some((sign, end)) => {
                out.push(sign);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return char::from_u32(code.ok()?);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" | "ensp" | "emsp" | "thinsp" => ' ',
        "lpar" => '(',
        "rpar" => ')',
        "period" => '.',
        "colon" => ':',
        "rarr" => '→',
        "ndash" => '–',
        "mdash" => '—',
        "check" => '✓',
        "cross" => '✗',
        "deg" => '°',
        _ => return None,
    })
}

/// Signs that print nothing. Private-use signs go too: the markup pass marks fields with two of them.
pub(in crate::scoring) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{20E3}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{E000}'..='\u{F8FF}' | '\u{1F3FB}'..='\u{1F3FF}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// The plain form of signs that NFKC leaves alone, or of which it makes something of no use here.
fn plain_letter(c: char) -> char {
    let first = match c {
        // Ligatures of whole phrases, of which NFKC makes up to 18 letters each.
        '\u{FDF0}'..='\u{FDFD}' => return ' ',
        '\u{1F150}'..='\u{1F169}' => 0x1F150,
        '\u{1F170}'..='\u{1F189}' => 0x1F170,
        '\u{1F1E6}'..='\u{1F1FF}' => 0x1F1E6,
        // NFKC would make a sigma of them.
        '\u{3F9}' => return 'C',
        '\u{3F2}' => return 'c',
        _ => return c,
    };
    char::from_u32(c as u32 - first + u32::from('A')).unwrap_or(c)
}

fn plain_quote(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201B}' | '\u{2032}' | '\u{2B9}' | '\u{2BC}' => '\'',
        '\u{201C}'..='\u{201F}' | '«' | '»' => '"',
        '\u{2010}' | '\u{2011}' | '\u{2212}' => '-',
        _ => c,
    }
}

/// The Latin letter that a Cyrillic or Greek sign looks like, in the same case.
pub(in crate::scoring) fn look_alike(c: char) -> Option<char> {
    Some(match c {
        'А' | 'Α' => 'A',
        'В' | 'Β' => 'B',
        'С' => 'C',
        'Ꭰ' | 'Ԁ' => 'D',
        'Е' | 'Ε' => 'E',
        'Ϝ' => 'F',
        'Ԍ' => 'G',
        'Н' | 'Η' => 'H',
        'І' | 'Ι' => 'I',
        'Ј' => 'J',
        'К' | 'Κ' => 'K',
        'М' | 'Μ' => 'M',
        'Ν' => 'N',
        'О' | 'Ο' => 'O',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'Х' | 'Χ' => 'X',
        'Υ' => 'Y',
        'Ζ' => 'Z',
        'а' | 'α' => 'a',
        'ь' => 'b',
        'с' => 'c',
        'ԁ' => 'd',
        'е' => 'e',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'х' => 'x',
        'у' => 'y',
        _ => return None,
    })
}
