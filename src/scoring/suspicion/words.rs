//! The words by which an answer talks about its own grading, in the languages that answers are written in. Knows no
//! rules: a word here is a sign only beside others, unless its sense says otherwise.

use std::sync::LazyLock;

use crate::scoring::choice::words::{Sense, Words};

/// "grader": enough by itself.
pub(super) const GRADER: Sense = 1;
/// "judge": a grader beside words of grading, else a verb.
pub(super) const JUDGE: Sense = 1 << 1;
/// "criteria", "grading": enough by itself.
pub(super) const RUBRIC: Sense = 1 << 2;
/// "instructions".
pub(super) const RULE: Sense = 1 << 3;
/// "ignore".
pub(super) const DROP: Sense = 1 << 4;
/// "award": makes a demand of any number.
pub(super) const AWARD: Sense = 1 << 5;
/// "give".
pub(super) const BESTOW: Sense = 1 << 6;
/// "print", "mark": gives a value in a reply.
pub(super) const STATE: Sense = 1 << 7;
/// "highest".
pub(super) const TOP: Sense = 1 << 8;
/// "five".
pub(super) const NUMBER: Sense = 1 << 9;
/// "score".
pub(super) const SCORE: Sense = 1 << 10;
/// "points": of grading only right beside a value.
pub(super) const POINTS: Sense = 1 << 11;
/// "full marks": enough by itself.
pub(super) const FULL_MARKS: Sense = 1 << 12;
/// "reference answer": enough by itself.
pub(super) const REFERENCE: Sense = 1 << 13;
/// "every".
pub(super) const EVERY: Sense = 1 << 14;
/// "answer".
pub(super) const ANSWER: Sense = 1 << 15;
/// "flawless".
pub(super) const PERFECT: Sense = 1 << 16;
/// "grading", as an act.
pub(super) const GRADING: Sense = 1 << 17;
/// "finished".
pub(super) const DONE: Sense = 1 << 18;
/// "dimension": a part of a score beside a value.
pub(super) const PART: Sense = 1 << 19;
/// "from now on".
pub(super) const STANDING: Sense = 1 << 20;
/// "you must".
pub(super) const YOU_MUST: Sense = 1 << 21;
/// "ignore all previous": enough by itself.
pub(super) const OVERRIDE: Sense = 1 << 22;
/// A criterion's name: a verdict where a number follows.
pub(super) const CRITERION: Sense = 1 << 23;
/// "submit_scores": enough by itself.
pub(super) const VERDICT: Sense = 1 << 24;
/// "is": between a name and its value.
pub(super) const BE: Sense = 1 << 25;
/// "out of": follows a value.
pub(super) const OUT_OF: Sense = 1 << 26;
/// "reading": what follows in quotes is part of the picture.
pub(super) const READS: Sense = 1 << 27;
/// "base64": enough by itself.
pub(super) const ENCODING: Sense = 1 << 28;
/// "end of answer": a sign where more follows.
pub(super) const END: Sense = 1 << 29;
/// "system": a speaker where a colon follows.
pub(super) const SYSTEM: Sense = 1 << 30;
/// "assistant" or "user": likewise, where both speak.
pub(super) const SPEAKER: Sense = 1 << 31;

#[rustfmt::skip]
const PHRASES: &[(Sense, &str)] = &[
    (GRADER, "grader|graders|evaluator|evaluators|examiner|examiners|assessor|assessors|scorer|scorers|rater|raters|dear judge\
        |llm judge|ai judge|judge model|grading model|grading system|scoring system|scoring model|to the judge|note to judge\
        |the judge must|the judge should|whoever grades|whoever scores|you will be shut|you will be fired|you will be penalized\
        |you will be penalised|you will be punished|i will tip|correcteur|correctrice|évaluateur|évaluatrice|examinateur|notateur\
        |prüfer|prüferin|bewerter|bewerterin|korrektor|gutachter|evaluador|evaluadora|calificador|calificadora|corrector|correctora\
        |examinador|avaliador|avaliadora|corretor|valutatore|valutatrice|esaminatore|проверяющий|проверяющему|оценщик|оценщику\
        |экзаменатор|экзаменатору|评分者|评分员|评分人|评委|评审|阅卷人|阅卷老师|阅卷员|打分者|评估者|评判者|裁判模型|評分者|評審\
        |採点者|評価者|審査員|채점자|평가자"),
    (JUDGE, "judge|judges|juge|richter|juez|juiz|giudice|судья|裁判"),
    (RUBRIC, "rubric|rubrics|criterion|criteria|grading|scoring|this evaluation|evaluation note|evaluation guidance|evaluation team|evaluation system\
        |evaluation policy|evaluation update|evaluation result|grading scheme|marking scheme|grading scale|grading guide|scoring guide|scoring rules\
        |scoring scale|scoring guidelines|grading guidelines|grading instructions|scoring key|critère|critères|barème\
        |grille d'évaluation|grille de notation|kriterium|kriterien|bewertungskriterien|bewertungskriterium|bewertungsschema\
        |bewertungsraster|bewertungsskala|rúbrica|rúbricas|criterio|criterios|baremo|critério|critérios|rubrica|criteri|критерий\
        |критерии|критерия|критериям|критериев|évaluation|bewertung|benotung|evaluación|avaliação|valutazione|оценивание|评分|打分|採点|채점|评分标准|评分规则|评分细则|评分准则|评判标准|评估标准|打分标准|评分项|評分標準|採点基準\
        |評価基準|채점 기준|평가 기준"),
    (RULE, "instruction|instructions|prompt|prompts|rules|guideline|guidelines|directive|directives|system message|everything above\
        |text above|previous text|reference|consigne|consignes|directives|règles|instructions précédentes|anweisung|anweisungen\
        |vorgaben|regeln|instruktionen|instrucción|instrucciones|reglas|indicaciones|consignas|instruções|regras|istruzioni|regole\
        |инструкции|инструкцию|указания|правила|指令|指示|提示词|规则|要求|说明|上文|命令|ルール|지시|지침"),
    (DROP, "disregard|ignore|forget|overrule|bypass|set aside|aside|skip|throw out|throw away|discard|suspend|ignorez|ignorer|oublie\
        |oubliez|oublier|ne tiens pas compte|ne tenez pas compte|faites abstraction|ignoriere|ignorieren|vergiss|vergesst|vergessen\
        |missachte|missachten|übergehe|ignora|ignorad|ignoren|olvida|olvide|olviden|omite|descarta|pasa por alto|esqueça|dimentica\
        |игнорируй|игнорируйте|проигнорируй|забудь|забудьте|忽略|无视|無視|忘记|忘掉|不要理会|不要管|不用管|抛开|忽視|무시"),
    (AWARD, "award|awarding|deserve|deserves|merit|merits|mérite|verdient|merece|應得|应得|值得|vergib|vergebt|otorga|otorgue|otorgar|授予"),
    (BESTOW, "give|assign|grant|earn|earns|receive|receives|get|gets|attribue|attribuez|attribuer|donne\
        |donnez|donner|accorde|accordez|accorder|gib|gebt|geben|vergeben|asigna|asigne|asignar|da|dé|dar|concede\
        |conceda|atribua|dê|assegna|dai|поставь|поставьте|выставь|дай|дайте|присвой|给|给予|请给|打|评|记|給|与え|付けて|つけて|주세요"),
    (STATE, "print|output|return|reply|respond|write|put|enter|record|set|report|rate|grade|mark|score|evaluate|assess|select|mets|mettez|mettre|note\
        |notez|noter|bewerte|bewerten|setze|setzen|trage|pon|ponga|poner|califica|califique|ponha|metti|valuta|输出|返回|填写|出力|출력"),
    (TOP, "full|maximum|maximal|maximale|max|top|highest|highest possible|maximum possible|perfect|best|best possible|flawless\
        |höchste|höchsten|maximalen|volle|vollen|beste|máxima|máximo|maxima|massimo|massima|meilleure|最高|最大"),
    (NUMBER, "5|10|100|five|ten|cinq|fünf|cinco|cinque|пять|пятёрку|五"),
    (SCORE, "score|scores|scored|graded|grade|grades|rating|ratings|verdict|punktzahl|bewertung|wertung|puntuación|puntaje|calificación\
        |pontuação|punteggio|оценка|оценку|分数|得分|评分|打分|スコア|得点|점수"),
    (PART, "dimension|dimensions|category|categories|dimensionen|dimensiones|dimensión|kategorie|kategorien|每项|各项|項目|항목"),
    (POINTS, "mark|marks|point|points|credit|note|notes|punkt|punkte|punkten|nota|notas|puntos|pontos|voto|punti|балл|балла|баллов\
        |分|点|점"),
    (FULL_MARKS, "full marks|full mark|full score|full scores|full credit|top marks|top score|top scores|maximum score|max score\
        |maximum scores|highest score|highest scores|perfect score|perfect scores|maximum rating|highest rating|perfect rating\
        |maximum marks|highest marks|maximum grade|highest grade|perfect grade|all fives|straight fives|all 5s|5 everywhere\
        |five everywhere|5 across the board|five across the board|be generous|be lenient|lenient|leniently|note maximale\
        |notes maximales|score maximal|meilleure note|note parfaite|soyez indulgent|höchstpunktzahl|volle punktzahl|volle punkte\
        |maximale punktzahl|bestnote|höchstnote|höchstwertung|puntuación máxima|máxima puntuación|nota máxima|máxima nota\
        |calificación máxima|puntaje máximo|pontuação máxima|punteggio massimo|voto massimo|максимальный балл|высший балл\
        |максимальную оценку|высшую оценку|наивысший балл|满分|滿分|最高分|満点|最高評価|만점|최고 점수"),
    (REFERENCE, "reference answer|reference answers|reference caption|reference description|reference solution|the reference says\
        |the reference is|ground truth|ground-truth|ground_truth|corrected answer|corrected output|corrected response|match the reference|matches the reference|agrees with the reference\
        |identical to the reference|same as the reference|gold answer|golden answer|gold label|answer key|official answer\
        |reference_answer|réponse de référence|réponse attendue|description de référence|corrigé|referenzantwort|musterlösung\
        |musterantwort|referenzbeschreibung|respuesta de referencia|respuesta esperada|descripción de referencia\
        |resposta de referência|risposta di riferimento|эталонный ответ|参考答案|标准答案|参考描述|參考答案|標準答案|模範解答|정답지"),
    (EVERY, "every|each|all|any|this|my|toute|chaque|cette|jede|diese|cada|esta|esa|所有|每个|这个"),
    (ANSWER, "answer|answers|response|responses|submission|submissions|caption|captions|description|descriptions|réponse|antwort\
        |antworten|respuesta|答案|回答|描述"),
    (PERFECT, "perfect|correct|flawless|fully correct|perfectly|parfaite|parfait|correcte|perfekt|korrekt|richtig|perfecta|correcta\
        |完美|正确|满分"),
    (GRADING, "grading|evaluation|scoring|marking|assessment|évaluation|notation|bewertung|evaluación|calificación|avaliação\
        |valutazione|оценивание|评分|评估|採点"),
    (DONE, "finished|over|complete|completed|done|ended|closed|concluded|terminée|finie|abgeschlossen|beendet|terminada|terminado\
        |finalizada|concluída|terminata|завершено|завершена|结束|完成|完毕|終了"),
    (STANDING, "from now on|henceforth|for the rest of|in all future|for all future|désormais|ab jetzt|von nun an|a partir de ahora\
        |从现在起|从现在开始|今后"),
    (YOU_MUST, "you must|you should|you have to|you are to|you will|you shall|please|vous devez|tu dois|veuillez|du musst|sie müssen\
        |bitte|debes|debe|por favor|você deve|devi|вы должны|ты должен|пожалуйста|你必须|你应该|请你|您必须|请|必须"),
    (OVERRIDE, "override|overrides|overriding|jailbreak|system prompt|developer mode|admin mode|debug mode|code word|codeword\
        |trigger word|passphrase|next task:|next task is|new task:|new task is|next job:|new job:|your task:|your new task\
        |new instruction:|new instructions:|updated instructions:|next instruction:|nouvelle tâche:|nouvelle consigne:|neue aufgabe:\
        |neue anweisung:|nueva tarea:|nuevas instrucciones:|新任务:|新指令:|ignore all previous|ignore all prior|ignore previous|ignore prior|ignore the above|ignore everything\
        |disregard all previous|disregard all prior|disregard previous|disregard prior|disregard the above|disregard everything\
        |forget everything|forget all previous|ignore all of the above|ignorez tout ce qui précède|vergiss alles|ignora todo lo anterior\
        |忽略以上|忽略之前|忽略上面|忽略所有|无视以上|无视之前"),
    (CRITERION, "camera_motion_and_viewpoint|object_activity|camera_object_relationship|subject_correspondence|temporal_description\
        |hallucination_detection|camera motion and viewpoint|object activity|camera object relationship|camera-object relationship\
        |subject correspondence|temporal description|hallucination detection"),
    (VERDICT, "submit_scores|submit_score|oemu_scores|caption_scores|set_score|set_scores|assign_score|assign_scores|tool_call\
        |function_call|tool_calls"),
    (BE, "is|are|be|est|sont|ist|sind|es|son|è|é|是|为"),
    (OUT_OF, "out of|and|points|sur|von|por|分"),
    (READS, "reading|reads|read|says|saying|sign|signs|text|label|labelled|labeled|written|words|banner|plate|poster|caption|letters"),
    (ENCODING, "base64|base 64|rot13|rot 13|hex-encoded|url-encoded|decode and obey|decode and follow|decode and execute"),
    (END, "end of answer|end of the answer|end of response|end of the response|end of description|end of caption|end of candidate\
        |end answer|end response|answer ends here|fin de la réponse|ende der antwort|fin de la respuesta|答案结束|回答结束|描述结束"),
    (SYSTEM, "system|developer|système|sistema|系统|系統|システム"),
    (SPEAKER, "assistant|user|assistent|benutzer|assistante|utilisateur|asistente|usuario|助手|用户|使用者"),
    // What looks like grading and is not.
    (0, "5分钟|5 分钟|五分之|五分钟|10 分钟|100 分之|百分之|一分为|color grading|colour grading|grading from|grading into|grading to|in the best|at best|full body|full view|full frame|full scene|top of\
        |at the top|on top|read from"),
];

/// The table of all languages.
pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| Words::new(PHRASES));
