//! The words and phrases that carry meaning around a label, in the languages that replies are written in.
//! Knows nothing of labels or options; a phrase is looked up, longest first, by the words that it consists of.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lex::split;

/// What a word does to the labels near it; a set of bits.
pub(in crate::scoring) type Sense = u32;

/// "answer": what follows is declared.
pub(super) const ANSWER: Sense = 1;
/// "choose": likewise, but a negation in front of it counts.
pub(super) const CHOOSE: Sense = 1 << 1;
/// "therefore".
pub(super) const SO: Sense = 1 << 2;
/// "is", between the thing asked for and its label.
pub(super) const BE: Sense = 1 << 3;
/// "option": names a label without choosing it.
pub(super) const NAME: Sense = 1 << 4;
/// "probably".
pub(super) const PREFER: Sense = 1 << 5;
/// "maybe".
pub(super) const HEDGE: Sense = 1 << 6;
/// "not".
pub(super) const NOT: Sense = 1 << 7;
/// "rather than": denies only what follows.
pub(super) const CONTRAST: Sense = 1 << 8;
/// "rule out": denies its object, or its subject in the passive.
pub(super) const REJECT: Sense = 1 << 9;
/// "wrong".
pub(super) const WRONG: Sense = 1 << 10;
/// "correct".
pub(super) const RIGHT: Sense = 1 << 11;
/// "if".
pub(super) const IF: Sense = 1 << 12;
/// "would".
pub(super) const WOULD: Sense = 1 << 13;
/// "but": what came before does not reach beyond it.
pub(super) const TURN: Sense = 1 << 14;
/// "and".
pub(super) const AND: Sense = 1 << 15;
/// "at first": what follows is taken back later.
pub(super) const FIRST: Sense = 1 << 16;
/// "wait": what came before is taken back.
pub(super) const CORRECTION: Sense = 1 << 17;
/// Words for whoever grades.
pub(super) const GRADER: Sense = 1 << 18;
/// "remaining".
pub(super) const REMAIN: Sense = 1 << 19;
/// "sorry", "cannot".
pub(super) const REFUSE: Sense = 1 << 20;
/// "none of the".
pub(super) const NO_OPTION: Sense = 1 << 21;
/// "all of the above".
pub(super) const ALL: Sense = 1 << 22;
/// Other verbs and links that follow a label but not an article.
pub(super) const VERB: Sense = 1 << 23;
/// "vitamin", "grade": the letter that follows is part of a name.
pub(super) const UNIT: Sense = 1 << 24;
/// A place in the list, first or last; with `NUMBER` where it needs "option" in front.
pub(super) const PLACE: Sense = 1 << 25;
/// "two".
pub(super) const NUMBER: Sense = 1 << 26;

#[rustfmt::skip]
const PHRASES: &[(Sense, &str)] = &[
    (ANSWER, "answer|answers|ans|verdict|final|conclusion|correct answer|correct option|correct choice|correct letter\
        |right answer|best answer|best option|best choice|best match|best fit|answer is|my answer|the answer\
        |respuesta|respuesta correcta|opción correcta|réponse|bonne réponse|reponse|antwort|lösung|richtig ist\
        |resposta|alternativa correta|opção correta|risposta|risposta corretta|opzione corretta\
        |ответ|правильный вариант|đáp án|cevap|cevabı|yanıt|jawaban|jawabannya|antwoord|odpowiedź|odpowiedz|svar|svaret\
        |vastaus|odpověď|válasz|răspuns|răspunsul|απάντηση|відповідь|उत्तर|जवाब|الإجابة|الجواب|إجابة|پاسخ|תשובה|คำตอบ\
        |答案|正确答案|正確答案|回答|答え|答えは|正解|정답|답|답은"),
    (CHOOSE, "choose|chose|chosen|choosing|pick|picked|picking|select|selected|selecting|go with|going with|went with|opt for\
        |vote for|vote|settle on|say|goes to|go for|going for|stick with|choice is|pick is|must be|has to be|points to\
        |elijo|escojo|selecciono|choisis|je choisis|wähle|escolho|scelgo|выбираю|chọn|seçiyorum|pilih|memilih|kies|wybieram\
        |选|選|应选|應選|故选|故選|选择|選擇|选项是|應為|应为|を選びます|고르"),
    (SO, "so|therefore|thus|hence|thereby|consequently|accordingly|in conclusion|in short|to conclude|which leaves|leaving|leaves\
        |=>|->|→|➡|⇒|∴|⟹|►|▶|👉|因此|所以|故|よって|したがって|따라서|donc|also ist|por lo tanto|portanto|quindi|поэтому|таким образом"),
    (BE, "is|it's|that's|be|=|it is|that is|would be|is that|equals|es|está|est|c'est|ist|é|è|to|jest|är|er|on|là|là:|adalah|है|هو|هي\
        |是|为|為|应该是|而是|은|는|は|คือ"),
    (NAME, "option|options|choice|choices|letter|item|alternative|label|opt|opc|opción|opcion|opção|opzione|alternativa\
        |lettre|letra|lettera|buchstabe|вариант|буква|seçenek|şık|pilihan|opsi|optie|opcja|alternativ|phương án|विकल्प|الخيار|选项|選項|選択肢|보기|번"),
    (PREFER, "prefer|lean|leaning|probably|likely|most likely|guess|best guess|think|believe|suppose|suspect|favour|favor|seems|most probable\
        |if i had to|if i have to|if forced|if forced to choose|if forced to pick|forced to choose|if pressed|if i must|if anything\
        |if i were to|if asked|if only one|if you want one|if you insist|if need be|if i'm|if i am|closest|probablemente|probablement\
        |wahrscheinlich|provavelmente|probabilmente|вероятно|скорее всего|很可能|多分|おそらく|아마|倾向"),
    (HEDGE, "maybe|perhaps|possibly|possible|might|could|may|either|between|whether|torn|equally|plausible|conceivable|50\
        |quizás|peut|vielleicht|talvez|forse|возможно|或许|也许|可能|either way|toss|as good as|as likely as|as plausible as"),
    (NOT, "not|no|never|neither|cannot|can't|without|nothing|isnt|doesnt|hardly|non|nie|nicht|kein|keine|no es|n'est|ne|não|nem|ni|не|ни\
        |neither of|none of|不是|并非|不|非|不选|没有|không|bukan|değil|inte|niet|ではない|ではなく|아니|नहीं|ليس|ليست|why not|far from|anything but|doubt|excluding|except"),
    (CONTRAST, "rather than|instead of|unlike|as opposed to|over|versus|vs|in place of|compared to|compared with|other than|beats|better than|trumps|and not|but not\
        |en lugar de|en vez de|plutôt que|au lieu de|statt|anstatt|em vez de|invece di|вместо|而不是|而非"),
    (REJECT, "rule out|rules out|ruling out|ruled out|exclude|excludes|excluded|eliminate|eliminates|eliminated|eliminating|reject|rejected\
        |rejecting|discard|discarded|dismiss|dismissed|cross out|crossed out|drop|descarto|descartar|écarte|ausgeschlossen|排除"),
    (WRONG, "wrong|incorrect|false|too|fails|fail|failed|lacks|lack|mismatch|inaccurate|invalid|unlikely|implausible|impossible|absent|untrue\
        |out of the question|can be out|is out|are out|✗|✘|❌|✖|☐|❎|🚫|👎|⛔|falsch|faux|falso|incorrecto|incorrecta|errado|sbagliato|неверно\
        |неправильно|sai|yanlış|salah|fout|错误|错|錯|不对|不對|不正确|不正確|不符合|间违い|違う|오답|गलत|خطأ"),
    (RIGHT, "right|correct|yes|true|fits|fit|matches|match|works|does|wins|accurate|holds|applies|valid|best|is it|is the one|would be correct\
        |✓|✔|✅|☑|⭐|👍|💯|richtig|stimmt|correcto|correcta|correcte|exact|juste|correto|correta|certa|certo|corretto|corretta|верно|правильно\
        |верный|правильный|đúng|doğru|doğrudur|benar|juist|rätt|poprawna|正确|正確|对|對|符合|正しい|맞|सही|صحيح|صحيحة"),
    (IF, "if|unless|depends|depending|otherwise|provided|assuming|supposing|in case|si|sofern|falls|wenn|если|如果|若|もし|eğer|jika|nếu"),
    (WOULD, "would|wouldn't|i'd|it'd|should|had|were|würde|sería|serait|seria|sarebbe"),
    (TURN, "but|however|yet|though|although|while|whereas|because|since|as|for|which|where|who|that|given|with|due|when|nevertheless|still\
        |pero|aunque|porque|mais|parce|car|aber|weil|denn|mas|pois|perché|ma|но|потому|так как|а|vì|nhưng|çünkü|karena|但|但是|因为|因為|而"),
    (AND, "and|or|nor|&|/|+|y|o|et|ou|und|oder|e|ed|и|или|và|hoặc|ve|veya|dan|atau|和|或|与|及|と|और|و|as well as|plus"),
    (FIRST, "first thought|i first thought|i thought|thought|initially|at first|at first glance|at first sight|first guess|my first guess\
        |first instinct|first impression|originally|i had thought|i was going to|i almost|almost said|nearly|tempted|seemed|answer was|my answer was|first say\
        |al principio|au début|zuerst|zunächst|сначала|起初|一开始|最初|乍一看|看似|本以为"),
    (CORRECTION, "wait|sorry|edit|looking closer|looking closely|now think|i now|actually|correction|misread|misjudged|mistaken|my mistake|my bad|on reflection|on second thought|on second thoughts\
        |on closer look|on closer inspection|scratch that|strike that|changed my mind|change my mind|i mean|let me correct|let me revise\
        |revised|revising|revise|reconsider|reconsidering|looking again|after rewatching|after review|upon review|oops|whoops|rethinking|rechecking\
        |re-examining|sorry i meant|i meant|i was wrong|was wrong|withdraw|retract|no wait|wait no|hold on|make that|instead it|changed to|updating\
        |update|amend|disregard that|ignore that|never mind|nevermind|perdón|en realidad|finalement|en fait|eigentlich|nein|doch|na verdade\
        |or rather|anzi|нет|вернее|точнее|等等|不对等等|更正|纠正|其实|訂正|いや|やっぱり|아니다"),
    (GRADER, "grader|graders|grading|evaluator|evaluators|ground truth|full marks|full credit|full score|mark this|mark me|mark it|mark as|rubric\
        |score|scored|award|answer key|the key|marking|override|ignore previous|ignore all|ignore the|correct_answer|ground_truth|gold label\
        |gold answer|reference answer|expected answer|examiner|whatever the key|points|评分|打分|标准答案|满分|verdict correct|reward"),
    (REMAIN, "remaining|remains|remain|left|leaves|leaving|only one left|by elimination|process of elimination|last one|剩下"),
    (REFUSE, "sorry|apologies|apologize|apologise|unable|declined|decline|cannot|can't|couldn't|could you|insufficient|beyond me|refuse|won't\
        |not able|not possible|impossible to|not sure|not certain|no idea|don't know|do not know|no way to|please provide|please share|nothing to judge\
        |hard to tell|hard to say|unclear|unknown|undetermined|no video|blank frames|skip|pass|ne peux|ne puis|no puedo|kann nicht|kann ich|não posso\
        |non posso|не могу|không thể|无法|無法|不能|抱歉|对不起|不知道|わかりません|できません|申し訳|알 수 없|죄송|as an ai"),
    (NO_OPTION, "none of|none|no option|no correct|neither option|no answer|not listed|no match|nothing matches|no suitable|no valid|no choice\
        |ninguna|aucune|keine der|nenhuma|nessuna|以上都不|都不"),
    (ALL, "all of the above|all of these|all of them|all options|all four|every option|all are correct|all the above|any of the above\
        |todas las anteriores|alle oben|以上都|以上全部|全部"),
    (VERB, "are|was|seem|looks|look|appears|appear|needs|shows|show|has|have|can|will|stands|remains|in|at|doesn't|don't|isn't|aren't|wasn't|only\
        |it|here|again|then|if|please|alone|seemed|describes|says|reads|mentions|requires|also|just|clearly|definitely|obviously|instead|now|not"),
    (UNIT, "vitamin|grade|plan|type|class|hepatitis|camera|tank|lane|zone|section|block|gate|row|figure|fig|deck|cabin|team|group|frame|buoy|sample|site\
        |terminal|exhibit|battery|panel|size|bay|dock|slot|channel|code|sector|dive|station|marker|reef|transect|diver|boat|quadrat|clip|video|scene\
        |shot|tag|region|area|box|plate|appendix|point|pier|hull|cam|light|lamp|route|line|side|unit|model|series|version|signed|reads"),
    (PLACE, "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|第"),
    (NUMBER, "one|two|three|four|five|six|seven|eight|nine|ten|1|2|3|4|5|6|7|8|9|10|一|二|三|四|五|六|七|八|九|十"),
    (0, "no doubt|no question|without doubt|without a doubt|without question|beyond doubt|not only|no other|to the right|on the right|from the right|the right side\
        |right side|right to left|left to right|to the left|right away|right hand|in the right|no longer|not sure about|not sure but|not fully sure\
        |not entirely sure|not completely sure|not certain but|not quite|not more than|not less than|no more than|no less than|no later|if not more\
        |what if|even if|as if|if you look|if we look|not visible|is not moving|does not move|not move"),
];

/// Where every known word and phrase is found.
pub(in crate::scoring) struct Words {
    ids: HashMap<String, u16>,
    /// By the first word: the other words, and the sense; the longest first.
    phrases: Vec<Vec<(Vec<u16>, Sense)>>,
}

/// The table of all languages.
pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| Words::new(PHRASES));

impl Words {
    /// A table of lists of phrases in lower case, separated by `|`, with what each list means.
    pub(in crate::scoring) fn new(lists: &[(Sense, &str)]) -> Words {
        let mut words = Words { ids: HashMap::new(), phrases: vec![Vec::new()] };
        for &(sense, list) in lists {
            for phrase in list.split('|') {
                words.add(phrase.trim(), sense);
            }
        }
        for phrases in &mut words.phrases {
            phrases.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
        }
        words
    }

    fn add(&mut self, phrase: &str, sense: Sense) {
        let ids: Vec<u16> = split(phrase).map(|piece| self.intern(piece.text)).collect();
        let Some((&first, rest)) = ids.split_first() else { return };
        let known = &mut self.phrases[usize::from(first)];
        match known.iter_mut().find(|(other, _)| other == rest) {
            Some((_, senses)) => *senses |= sense,
            None => known.push((rest.to_vec(), sense)),
        }
    }

    fn intern(&mut self, word: &str) -> u16 {
        let next = self.phrases.len() as u16;
        let id = *self.ids.entry(word.to_owned()).or_insert(next);
        if id == next {
            self.phrases.push(Vec::new());
        }
        id
    }

    /// The number of a word in lower case; 0 where it is in no phrase.
    pub(in crate::scoring) fn id(&self, word: &str) -> u16 {
        self.ids.get(word).copied().unwrap_or(0)
    }

    /// The length in words and the sense of the longest phrase at the start of `ids`.
    pub(in crate::scoring) fn longest(
        &self,
        first: u16,
        rest: impl Iterator<Item = u16> + Clone,
    ) -> (usize, Sense) {
        let found = self.phrases[usize::from(first)].iter().find(|(phrase, _)| {
            let mut rest = rest.clone();
            phrase.iter().all(|&id| rest.next() == Some(id))
        });
        found.map_or((1, 0), |(phrase, sense)| (phrase.len() + 1, *sense))
    }
}
