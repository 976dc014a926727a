"""Words and patterns of standing instructions and preferences, a table per language.

Every pattern is matched against lower-case text of one sentence (at most a few hundred characters),
repeats are bounded, and none nests one unbounded repeat in another: cost is linear in the text.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass


class LatePattern:
    """A regular expression that is compiled by its first use.

    To compile all of them takes 0.1 s, which a start of the service need not wait for.
    """

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        if self._compiled is None:
            self._compiled = re.compile(self.source)
        return self._compiled

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the match at `start`, or None."""
        return self.compiled.match(text, start, end)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the first match from `start`, or None."""
        return self.compiled.search(text, start, end)


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """Patterns of one language. All but `late_future`, `late_when` and `domain_end` match at the
    start of a clause, after its fillers.
    """

    code: str
    triggers: tuple[str, ...]  # whole words; a sentence without any of these is not examined
    future: LatePattern  # "from now on": makes an order lasting
    standing: LatePattern  # an order that lasts by its own words: "never push ..."
    order: LatePattern  # an order that lasts only with a condition or a word for the future
    when: LatePattern  # opens a condition that may occur again: "whenever I ..."
    domain: LatePattern  # a clause that names a subject: "for Python code"
    domain_open: LatePattern | None  # the same before an order without a comma
    address: LatePattern  # how to address the user
    preference: LatePattern
    one_choice: LatePattern  # a preference among things at hand: "I prefer the second one"
    late_future: LatePattern  # "... from now on"
    late_when: LatePattern  # "... when I ask about X"
    domain_end: LatePattern  # "... in Python code"
    is_spaced: bool = True  # words have spaces between them


def alternatives(*patterns: str) -> LatePattern:
    """Return a pattern that matches any of these."""
    return LatePattern("|".join(f"(?:{one})" for one in patterns))


def any_of(words: str) -> str:
    """Return a group of the words of a text; `_` stands for a space."""
    return f"(?:{'|'.join(re.escape(word).replace('_', ' +') for word in words.split())})"


# Words before an order that do not change it, in all languages: messages mix them.
FILLER = LatePattern(
    r"(?:"
    + any_of(
        "ok okay thanks thank_you thx hi hey hello btw by_the_way also and but so oh well please"
        " pls"
        " plz just kindly note reminder important one_more_thing ps p.s. again then yes great cool"
        " perfect nice actually though since because although that while fyi anyway this_is"
        " general_rule rule instruction quick_note heads_up first_of_all"
        " bitte danke hallo also und aber übrigens noch_was dann nur mal ach weil da wichtig"
        " stp svp s'il_te_plaît s'il_vous_plaît merci et mais aussi au_fait alors car"
        " por_favor porfa gracias hola y pero también entonces por_cierto porque además"
        " per_favore per_piacere grazie ciao e ma anche allora comunque perché inoltre"
        " пожалуйста спасибо привет и а но ещё еще также кстати просто потому_что так давай"
    )
    + r"(?![\w'])[\s,.:!-]{0,3}"
    r"|请你?|麻烦你?|谢谢你?|好的?[,，]|另外[,，]?|还有[,，]?|顺便说一下[,，]?|对了[,，]?|那么?[,，]?"
    r"|[\s\-*•·>\"'(\[,:]{1,8}|\d{1,2}[.)]\s)"
)
# A clause may open after these.
CLAUSE = re.compile(
    r"[,，;；:：–—()]\s*|\s-\s|\.\.+\s*|\s(?=(?:and|but|so|btw|und|aber|et|mais|y|pero|e|ma|и|но)\s)"
)
# Somebody else's words or orders to somebody else.
REPORT = LatePattern(
    r"\b(?:he|she|they|boss|manager|teacher|docs?|documentation|readme|policy|guide|customers?"
    r"|client|people|who|someone|everyone|team|wife|husband|mom|dad|doctor|linter|article|book)"
    r"\b[^,.]{0,24}\b(?:says?|said|told|tells|wants?|wrote|writes|insists?|keeps? saying)\b"
    r"|\b(?:chef|chefin|er|sie|lehrer|kunde|arzt|mutter|vater|kollege)\s(?:\w+\s)?"
    r"(?:sagt|sagte|meint|meinte|will|schreibt|schrieb)\b"
    r"|\b(?:chef|patron|il|elle|prof|client|médecin)\s(?:\w+\s)?(?:dit|veut|écrit|a dit)\b"
    r"|\b(?:jefe|jefa|él|ella|profesor|cliente|médico)\s(?:\w+\s)?(?:dice|dijo|quiere|escribió)\b"
    r"|\b(?:capo|lui|lei|prof|cliente|medico)\s(?:\w+\s)?(?:dice|ha detto|vuole|scrive)\b"
    r"|\b(?:начальник|шеф|он|она|учитель|клиент|врач)\s(?:\w+\s)?(?:говорит|сказал|сказала|просит"
    r"|хочет|пишет)\b|(?:老板|经理|老师|客户|他|她|医生|妈妈|爸爸)(?:们)?(?:让|叫|要|说|写)"
    r"|\b(?:what does|meaning of|song|lyrics|quote|proverb|slogan)\b"
)
# Opens a question or a task about text: what follows a colon is that text.
TASK = LatePattern(
    r"\b(?:translate|summari[sz]e|rewrite|proofread|rephrase|paraphrase|edit|correct|wrote|writes"
    r"|says|said|read|explain|review|analy[sz]e|policy|e-?mail|letter|log|error|output|transcript"
    r"|following|text|übersetze?|fasse?|korrigiere?|schreibt|schrieb|steht|traduis|traduire"
    r"|résume|corrige|écrit|traduce|traduci|resume|riassumi|corregge|escribió|scrive|переведи"
    r"|перескажи|исправь|пишет|написал\w?)\b|翻译|总结|改写|润色|写道|原文|如下"
)

_EN_VERBS = any_of(
    "add address adopt advise answer append apply ask assume avoid back be begin bring calculate"
    " call capitalize center check choose cite clarify clean comment compare confirm consider"
    " convert copy create cut define delete describe display do double-check draft echo emphasize"
    " end ensure exclude explain express extract fetch fill finish fix flag focus follow format"
    " generate give go greet group guess highlight ignore implement include indent inform insert"
    " justify keep label leave let limit link list log look lowercase mail make mark mention merge"
    " name note notify offer omit open order organize outline output point prefer prepare present"
    " preserve print prioritize provide push put quote rank read recommend refer reference remember"
    " remind remove rename repeat replace reply report respond return reuse review round run save"
    " say search send separate set share show sign skip solve sort speak specify spell stick start"
    " state stay stop store structure suggest sum summarise summarize switch tag take talk tell"
    " test"
    " translate treat try type update use validate verify warn wrap write"
)
# After "always" or "never" at the start of a clause these are no orders.
_EN_NO_ORDER = any_of(
    "happy mind gonna going have_i have_we have_you have_they had been the a an on in at my his her"
    " our your this that these it i we he she they you good nice great same heard saw knew thought"
    " got again too so more less as fun glad sure ready there here than before after would could"
    " should will can is was are were did does not late busy tired hungry wrong right free open"
    " available felt made went came told said won lost kept meant left took gave wrote ran broke"
    " built bought brought seen done known taken given worth enough quite really true false null"
    " none"
    " understood once and or but with without from to for by of about nice sad fun great love enjoy"
    " good better best knew grew began became forgot got hated met sat slept spoke paid hurt let_me"
    " wanna tried stop learning ever fear underestimate say_never dull easy hard new old quick"
    " a_dull"
    " give_up let_us let_me quit_on lose_hope look_back shy count_on count_me loved fond"
    " grateful down up out home late early someone something anything nothing everyone"
    " also only just even quite very pretty super kinda sorta because when while if"
)
_EN_VERB_AFTER = (
    rf"(?!{_EN_NO_ORDER}(?![\w'-]))(?![a-z]+(?:[^su]s|[^aeiou]ought|elt)(?![\w'-]))"
    r"(?:need|feed|embed|proceed|bring|string|seed|(?![a-z]+(?:ed|ing|en)(?![\w'-]))[a-z]"
    r"[a-z-]+|open|shorten|listen)(?![\w'])"
)
# After a statement and a comma, only these are orders: "they are great, always full of surprises".
LATE_ORDER = LatePattern(
    rf"(?:always|never|don'?t ever|do not ever),? (?:{_EN_VERBS})(?![\w'-])|(?!always|never"
    rf"|don'?t ever|do not ever)"
)
_EN_ALWAYS = r"(?:always|never ever|never|don'?t ever|do not ever)"
_EN_WHEN = (
    r"(?:when|if)(?:ever)? (?:i|we|i'm|i am|we're)\b"
    r"|when (?:you're )?(?:writing|answering|replying|reviewing|explaining|coding|giving)\b"
    r"|(?:when|if) (?:you|u|you're|you are) (?:answer|reply|respond|write|show|give|explain"
    r"|change|suggest"
    r"|generate|create|review|translate|summari[sz]e|mention|provide|edit|cite|list|refer"
    r"|recommend)"
    r"|(?:whenever|every ?time|each time|any ?time)"
    r" (?!you (?:need|want|like|feel|can|have|are|get|wish)|you're|possible)"
)
_EN_FUTURE = (
    r"(?:(?:from|for) now on|from (?:now|here|today|this point|this moment|here on) ?(?:on"
    r"|onwards?|forward|out)?"
    r"|starting (?:now|today)|going forward|moving forward|in (?:the )?future|for the future"
    r"|in general|as a (?:general )?rule|by default|henceforth|unless i (?:say|tell|ask)[^,]{0,30}"
    r"|for all (?:my )?future [a-z]+|in all (?:my |your )?future [a-z]+|at all times"
    r"|in (?:all|every)(?: of)? (?:our |my |your |future )*(?:conversations?|chats?|sessions?"
    r"|answers?|replies|messages|projects?)"
    r"|for the rest of (?:this|our) [a-z]+)(?![\w'])"
)
_EN_SUBJECT_WORK = (
    r"(?:answers?|replies|reply|responses?|explanations?|messages|summaries|e-?mails|code|examples"
    r"|comments|sentences|texts?)"
)
_EN_ADVERBS = (
    r"(?:(?:really|generally|usually|strongly|much|typically|personally|definitely|always|still"
    r"|also|often|do|mostly|tend to|actually|would|kinda|honestly|normally|vastly|very much) ){0,3}"
)
ENGLISH = Grammar(
    code="en",
    triggers=(
        "always",
        "anymore",
        "any more",
        "again",
        "ever",
        "in general",
        "for now on",
        "this moment on",
        "in all",
        "in every",
        "remember that",
        "keep in mind",
        "pronouns",
        "want you to",
        "stop",
        "when writing",
        "when answering",
        "when replying",
        "when reviewing",
        "when explaining",
        "when coding",
        "when giving",
        "never",
        "t ever",
        "not ever",
        "from now",
        "from here",
        "from today",
        "going forward",
        "moving forward",
        "future",
        "as a rule",
        "general rule",
        "by default",
        "henceforth",
        "unless i",
        "whenever",
        "when i",
        "when we",
        "when you",
        "every time",
        "everytime",
        "each time",
        "anytime",
        "any time",
        "if i ",
        "call me",
        "calling me",
        "refer to me",
        "address me",
        "go by ",
        "to be called",
        "keep your",
        "keep the",
        "keep all",
        "keep answers",
        "keep replies",
        "keep responses",
        "keep explanations",
        "your answers",
        "your replies",
        "your responses",
        "in replies",
        "in answers",
        "in responses",
        "at all times",
        "prefer",
        "preference",
        "rather",
        "like it when",
        "like when",
        "hate it",
        "hate when",
        "i like",
        "i love",
        "works best",
        "work best",
        "i value",
        "i favor",
        "i favour",
        "i favored",
        "prioritize",
        "prioritized",
        "prioritise",
        "prioritised",
        "i chose",
        "i choose",
        "i opt",
        "opted for",
        "i lean",
        "leaned towards",
        "i've always",
        "lean towards",
        "works better",
        "work better",
        "i find ",
        "don't like",
        "dont like",
        "starting now",
        "starting today",
        "remember to",
        "if we ",
        "fan of",
    ),
    future=alternatives(_EN_FUTURE),
    standing=alternatives(
        rf"{_EN_ALWAYS},? {_EN_VERB_AFTER}",
        rf"(?:you|u) (?:should|must|need to|have to|will|shall|are to|ought to)"
        rf" (?:always|never|not ever) {_EN_VERB_AFTER}",
        rf"i(?:'d| would)? (?:want|need|like|expect|prefer|wish|ask|love) (?:you|u|that you)"
        rf" (?:to )?(?:please )?(?:always|never) {_EN_VERB_AFTER}",
        rf"(?:make sure|be sure|remember|try|ensure|make certain|take care|see to it),?"
        rf" (?:that )?(?:you |to )?(?:always|never) {_EN_VERB_AFTER}",
        r"(?:(?:don'?t|do not|no|never|stop|no need to|(?:you|u) (?:don'?t|do not) (?:need"
        r"|have) to)\b)"
        r"(?!.{0,60}\b(?:this|that|it|the)\b) [^.]{2,80}[, ](?:anymore|any more|ever again"
        r"|ever|every ?time|each time|always)$",
        r"i(?:'d| would)? (?:want|need|like|expect) (?!to |you )[^.]{2,60},? always$",
        r"(?:i (?:want|need) (?:you|u) to |i'd like you to )?(?:remember|keep in mind)(?: that)? i"
        r" (?:always |never |only |don'?t |do not )?(?:use|prefer|like|want|eat|drink|hate|work)\b",
        r"i (?:don'?t|do not|never) (?:ever )?want (?:you|u) to (?!.{0,60}\b(?:this|that|it|the"
        r"|yet)\b)",
        r"stop (?:apologi[sz]|us|add|includ)ing\b"
        r"(?!.{0,40}\b(?:this|that|it|the|now)\b)",
        r"keep (?:(?:all|your|the|my|any) ){0,2}"
        + _EN_SUBJECT_WORK
        + r" (?:and [a-z]+ )?(?:short|brief|concise|simple|to|under|below|within|in|as|free|polite"
        r"|formal|informal|casual|detailed|long|clear|professional|friendly|at|tight)",
        r"(?:never|no|don'?t|do not|avoid|skip|stop|please no|without|use|only use)"
        r" [^.]{1,50}? (?:in|from|with) (?:(?:all|any|every|all of) )?(?:your|of your|all|any"
        r"|every)"
        r" (?:answers|replies|responses|messages|code|explanations|examples)",
    ),
    order=alternatives(
        rf"(?:just |only |always |never |do |also )?{_EN_VERBS}(?! (?:is|are|was|were"
        rf"|of)\b)(?![\w'-])",
        r"(?:don'?t|do not|no|no more|stop|never|always|only|avoid|without) [a-z]",
        r"(?:you|u) (?:should|must|need to|have to|can|may|are to|ought to|shall|could)\b",
        r"i(?:'d| would)? (?:want|need|like|expect|prefer|love|appreciate it if) (?:you|u"
        r"|that you)",
        r"(?:make sure|be sure|remember to|try to|ensure|feel free to|there should be)",
        r"(?:can|could|would|will) (?:you|u) (?:please )?(?:always |never )?" + _EN_VERBS,
        r"(?:all |every |each )?(?:your )?"
        + _EN_SUBJECT_WORK
        + r" (?:should|must|need to|have to)",
    ),
    when=alternatives(_EN_WHEN),
    domain=alternatives(
        r"(?:for|in|with|on) (?!the (?:moment|record|meantime)|this|that|now|fact|case|case,|order"
        r"|example|instance|short|addition|general|future|my opinion|all honesty|which)[^,]{2,60}$"
    ),
    domain_open=alternatives(
        r"for (?!this|that|now)(?:all |any |my )?(?:[\w+#-]+ ){1,3}?(?=(?:please|always|never"
        r"|use)\b)"
    ),
    address=alternatives(
        r"my pronouns are |use (?:they/them|she/her|he/him)",
        r"(?:you can |just |always |please |from now on )*(?:call me|refer to me as|address me as"
        r"|stop calling me|don'?t call me|do not call me|never call me|i go by"
        r"|i prefer to be called"
        r"|i(?:'d| would)? (?:like|want|prefer) to be called|you (?:can|may|should) call me)"
        r" (?!(?:when|if|at|back|later|tomorrow|on|in|a|an|the|crazy|maybe|up|after|before|as|once"
        r"|asap|today|now|tonight|to|from|and|or|again|this|next|every|for|anytime|names|stupid|old"
        r"|paranoid|my|his|her|out|over|what|whatever|whenever|tmrw|using|with|on|by|first|ishmael"
        r"|many|is|are|not|it|that|soon|sometime|via|about|regarding|because|until)\b)"
        r"[^\W\d][\w.'-]{0,24}(?: [\w.'-]{1,24}){0,2} ?(?:$|[,.!;)?-]|\b(?:from|instead|please|pls"
        r"|ok|in|not|and|btw|thanks|when|if|for|everywhere|always|only|too)\b)",
    ),
    preference=alternatives(
        rf"i {_EN_ADVERBS}prefer(?!\s*(?:[,.;!?]|$)| not\b| to (?:wait|leave|meet)\b| \d)\b",
        r"i'd (?:really |strongly |much |generally )?prefer"
        r" (?:(?:it )?if (?:you|your|answers)\b(?!.{0,60}\b(?:first|specific|this|those|these"
        r"|now)\b)|that you|you|your"
        r"|[^,.]{2,60}\b(?:over|rather than|in general|from now on|always)\b)",
        r"i(?:'d| would) (?:much |really )?rather (?:you|not|have|see|get|use|read|avoid|keep"
        r"|work|be)\b"
        r"(?=.{0,120}\b(?:than|you|when|always|in general)\b)",
        r"i (?:always |usually |generally |typically |tend to )?(?:prioriti[sz]e|favou?r|value"
        r"|choose|opt for"
        r"|lean towards?) [^,.]{2,60} (?:over|rather than|instead of) ",
        r"i(?:'ve| have) always (?:prioriti[sz]ed|favou?red|valued|chosen|opted for)\b",
        r"my (?:personal |general |strong |usual )?preference (?:is|has always been)\b",
        r"i (?:really |just )*(?:don'?t|do not|never) (?:really )?(?:like|want|enjoy)(?: it)?,?"
        r" (?:when|if) (?:you|u|your|answers|replies)\b",
        r"i (?:really |just )*(?:hate|dislike|can'?t stand|appreciate)(?: it)?,? (?:when|if)"
        r" (?:you|u|your|answers|replies)\b(?! could)",
        r"i (?:really |just )*(?:like|love|enjoy)(?: it)?,? (?:when|if) (?:your|answers|replies"
        r"|(?:you|u) (?:always |just |only )?(?:answer|ask|reply|explain|show|give|include|keep"
        r"|use|add|summari[sz]e|list|start|cite|provide|quote|write|format|break|link|structure"
        r"|put|skip|stick|end|begin|get straight|are (?:brief|concise|direct|honest)))\b",
        r"i(?:'m| am) not a (?:big |huge )?fan of\b",
        r"i (?:really )?(?:like|prefer|love|want) (?:my |your |the |to get |to have |to see "
        r"|when )?"
        r"(?:(?:short|brief|long|concise|detailed|simple|plain|direct|quick|bulleted|clear|honest)"
        r"(?:,| and|er)? ?)+(?:[a-z]+ )?(?:answers|replies|responses|explanations|summaries|lists"
        r"|examples|messages|emails|sentences|code|steps|text)",
        r"i like my [^,]{2,40}(?:short|simple|hot|cold|black|strong|mild|spicy|clean|organized"
        r"|concise|brief|with|without|in)\b",
        r"i find [^,.]{2,60}(?:easier|clearer|nicer|better|more (?:readable|useful|helpful"
        r"|natural))",
        r"(?![^,.]{0,50}\b(?:what|which|how|if|whether|see|find|know|can|would|might|will)\b)"
        r"[^,.]{2,50} works? (?:best|better) for me\b",
    ),
    one_choice=LatePattern(
        r"prefer (?:(?:to go with |to use |to take |going with )?(?:the|your|this|that|these"
        r"|those|it"
        r"|option|number|#)(?: (?:[\w-]+ )?(?:one|ones|first|second|third|fourth|last|latter|former"
        r"|version|option|approach|variant|draft|design|suggestion|title|wording|idea|blue|red"
        r"|green"
        r"|other|way))?\s*\w?\s*(?:$|[,.;!?]|because|since|as|for now|let|so|better))"
        r"|\b(?:today|tomorrow|tonight|this (?:time|week|weekend|one|morning|evening|afternoon)"
        r"|next (?:week|month|friday|monday)|for now|right now|just this once)\b"
    ),
    late_future=LatePattern(
        r"\b(?:from (?:now|here|this point) ?(?:on|onwards?|forward|out)|going forward"
        r"|moving forward|in (?:the )?future|in general|as a (?:general )?rule|by default"
        r"|henceforth"
        r"|at all times|for all future|starting now|every single time)\b"
    ),
    late_when=LatePattern(
        r"\b(?:whenever|every ?time|each time|any ?time)\b(?! (?:you (?:need|want|like|can|get)"
        r"|possible)).{3,}"
        r"|\bif (?:i|we) (?:ask|say|mention|write|talk|send|request|tell|give)\b.{2,}"
        r"|\bwhen(?:ever)? (?:i|we|you|i'm|you're|it's|there|someone|discussing|talking|asked"
        r"|working"
        r"|writing|giving|showing|answering|explaining|dealing|suggesting|providing)\b.{2,}"
        r"|\bunless (?:i|you|it)\b.{2,}"
    ),
    domain_end=LatePattern(
        r"\b(?:in|for|with|on|about) (?:(?:my|our|the|all|any|small|large|big|new|your|work|private"
        r"|short|long|formal|public|internal|customer|client|business|production|backend|frontend"
        r"|unit|personal|technical|professional|academic|[a-z#+.]{1,12}) ){0,2}"
        r"(?:code|e-?mails?|letters?|python|javascript|js|typescript|ts|sql|rust|go|java|c\+\+|bash"
        r"|css|html|react|examples|recipes|datasets|reports?|documents|slides|projects?|scripts"
        r"|tests|functions|queries|apis?|commits?|commit messages|meetings?|trips?|travel|drafts"
        r"|essays?|tables|charts|invoices|contracts|tickets|spreadsheets|presentations?|homework"
        r"|proofs|tasks|apps?|applications|components|services|errands|breakfast|dinner|lunch)$"
    ),
)
