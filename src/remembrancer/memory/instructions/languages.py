"""Words and patterns of standing instructions in German, Russian and Chinese.

Imperatives are listed: an order and a statement often have the same form.
"""

from __future__ import annotations

from .grammar import Grammar, alternatives, any_of

_DE_VERBS = (
    any_of(
        "achte antworte antworten antwort antwortet beantworte beginne beginn benutze benutz"
        " benutzen"
        " bleib bleibe bring denk denke duz duze erinnere erkläre erklär erwähne erwähn fang"
        " fass fasse"
        " formatiere frag frage fragen füg füge füll führ führe geb gib geh gruppiere halt halte"
        " ignoriere"
        " kommentiere kürze kürz lass lasse lies liste lösch lösche mach mache markiere merk"
        " nenn nenne"
        " nimm nummeriere nutz nutze ordne pass prüf prüfe rechne ruf sag sage schick schicke"
        " schlag"
        " schreib schreibe schreiben sei sende setz setze siez sieze sortiere speicher speichere"
        " sprich"
        " starte stell stelle teste trenne übersetz übersetze unterschreib vermeide verweise"
        " verwende"
        " verwend verwenden verzichte wandle warte wiederhole zeig zeige zieh ziehe zitiere zähl"
    )
    + r"(?![\wäöüß])"
)
_DE_ALWAYS = r"(?:immer|stets|grundsätzlich|prinzipiell|jedes mal|niemals|nie(?: wieder| mehr)?)"
_DE_WHEN = (
    r"(?:immer |jedes mal,? |nur |außer )?wenn (?:ich|wir|du|es|man|jemand)\b|falls (?:ich|wir"
    r"|du)\b"
    r"|sobald (?:ich|wir|du)\b|wann immer |jedes mal,? wenn |sooft ich "
)
_DE_FUTURE = (
    r"(?:ab jetzt|ab sofort|ab heute|ab nun|in zukunft|zukünftig|künftig|von nun an|von jetzt an"
    r"|fortan|generell|für die zukunft|standardmäßig|in der regel|für alle zukünftigen \w+)(?!\w)"
)
GERMAN = Grammar(
    code="de",
    triggers=(
        "immer",
        "mehr",
        "hör auf",
        "stets",
        "grundsätzlich",
        "niemals",
        "nie ",
        "jedes mal",
        "ab jetzt",
        "ab sofort",
        "ab heute",
        "zukunft",
        "künftig",
        "zukünftig",
        "zukünftigen",
        "von nun an",
        "von jetzt an",
        "fortan",
        "generell",
        "nenn",
        "nenne",
        "nennen",
        "sprich mich",
        "duz",
        "duze",
        "siez",
        "sieze",
        "bevorzuge",
        "ziehe",
        "genannt",
        "lieber",
        "ich mag",
        "ich hasse",
        "wenn ich",
        "falls ich",
        "sobald ich",
        "standardmäßig",
        "ich finde",
        "wenn du",
        "ich hätte gern",
        "wenn wir",
    ),
    future=alternatives(_DE_FUTURE),
    standing=alternatives(
        rf"{_DE_VERBS} (?:\S{{1,30}} ){{0,6}}?{_DE_ALWAYS}(?!\w)",
        rf"{_DE_ALWAYS} {_DE_VERBS}",
        rf"(?:bitte )?{_DE_ALWAYS} (?!wenn|noch|mehr|mal |der|die das|so|gleich)\S.{{2,90}}(?:en"
        rf"|ern|eln)"
        r"(?:[ ,]*bitte)?\W*$",
        rf"(?<=bitte )(?:\S{{1,30}} ){{0,3}}?{_DE_ALWAYS}(?!\w)",
        rf"du (?:sollst|musst|solltest|darfst|kannst"
        rf"|brauchst) (?:\S{{1,30}} ){{0,4}}?{_DE_ALWAYS}(?!\w)",
        rf"ich (?:möchte|will|hätte gern|erwarte|wünsche mir)(?: gern)?,? dass du (?:\S{{1,30}} )"
        rf"{{0,4}}?{_DE_ALWAYS}(?!\w)",
        rf"(?:denk daran|achte darauf|stell sicher"
        rf"|vergiss nicht),? (?:\S{{1,30}} ){{0,4}}?{_DE_ALWAYS}",
        rf"{_DE_VERBS} (?:\S{{1,30}} ){{0,3}}?(?:kein|keine|keinen"
        rf"|nicht) (?:\S{{1,30}} ){{0,5}}?mehr\b",
        r"hör (?:bitte )?auf,? \S",
        r"halte? (?:deine |die |alle |alle deine )(?:antworten|erklärungen|texte|mails) ",
    ),
    order=alternatives(
        rf"{_DE_VERBS}",
        r"(?:bitte|nur|nur noch|kein|keine|keinen|nicht|nicht mehr|alle|alles|immer|nie"
        r"|niemals) \S",
        r"(?:sollst|musst|sollten|solltest|kannst|möchte ich|will ich|hätte ich gern)\b",
        r"(?:kannst|könntest|würdest) du ",
        r"(?:du (?:sollst|musst|solltest|kannst)|ich (?:möchte|will),? dass du|dann)\b",
    ),
    when=alternatives(_DE_WHEN),
    domain=alternatives(
        r"(?:bei|für|in) (?!diese|dem fall|ordnung|wirklichkeit|mich|dich)[^,]{2,60}$"
    ),
    domain_open=alternatives(
        r"(?:bei|für|in) (?!diese)(?:[\w+#-]+ ){1,4}?(?=(?:bitte|immer|nie|niemals|stets"
        r"|grundsätzlich)\b)"
    ),
    address=alternatives(
        r"(?:nenn|nenne) mich \w",
        r"sprich mich (?:\S+ ){0,2}?(?:mit|als|per) ",
        r"du kannst mich \w.*nennen",
        r"(?:duz|duze|siez|sieze) mich",
        r"nenn(?:e)? mich nicht",
        r"ich (?:möchte|will) \S.*genannt werden",
    ),
    preference=alternatives(
        r"ich (?:\w+ ){0,2}?bevorzuge\b",
        r"ich ziehe \S.{2,60} vor\b",
        r"mir (?:ist|sind|wäre|wären) \S.{2,80}?lieber\b",
        r"ich mag (?:es )?(?:\w+ )?lieber\b",
        r"ich mag (?:es )?(?:gar |überhaupt )?(?:nicht|gern|sehr)?,? ?wenn du\b",
        r"ich hasse es,? wenn\b",
        r"ich (?:hätte|habe|lese|arbeite|benutze|nutze|trinke|esse) (?:\w+ ){0,2}?lieber\b",
        r"ich finde \S.{2,60}(?:besser|übersichtlicher|angenehmer|lesbarer|einfacher) als\b",
        r"lieber [^,]{2,50} als (?!gedacht|nie)",
    ),
    one_choice=alternatives(
        r"(?:bevorzuge|lieber) (?:die|den|das|dies\w*|eher d\w\w|option|variante) ?(?:erste"
        r"|zweite|dritte"
        r"|letzte|obere|untere|andere|blaue|rote)?\w* ?(?:variante|version|option|vorschlag"
        r"|lösung)?\s*(?:$|[,.;!])",
        r"\b(?:heute|morgen|diesmal|dieses mal|jetzt gerade|nächste woche)\b",
    ),
    late_future=alternatives(rf"\b{_DE_FUTURE}"),
    late_when=alternatives(r"\b(?:" + _DE_WHEN + r").{2,}"),
    domain_end=alternatives(
        r"\b(?:in|bei|für) (?:[\w-]+ ){0,2}?(?:[\w-]*code|[\w-]*mails?|briefen?|python"
        r"|javascript|sql|java"
        r"|beispielen?|rezepten?|berichten?|projekten?|texten?|tabellen?"
        r"|protokollen?)(?: an [\w-]+)?\b"
    ),
)

# Imperatives end in -й(те), -и(те), -ь(те); the list leaves out nouns and infinitives.
_RU_VERBS = (
    any_of(
        "отвечай отвечайте ответь пиши пишите используй используйте указывай показывай покажи"
        " объясняй"
        " давай_мне делай не_делай называй называйте зови зовите обращайся обращайтесь говори"
        " добавляй"
        " добавь проверяй проверь спрашивай спроси избегай начинай заканчивай переводи предлагай"
        " уточняй"
        " форматируй тестируй составляй выписывай выводи включай исключай напоминай ставь приводи"
        " сокращай сохраняй удаляй меняй запускай считай округляй сравнивай присылай держи помни"
        " учитывай"
        " подписывай ссылайся оформляй разделяй комментируй бери оставляй предупреждай пропускай"
        " упоминай перечисляй соблюдай повторяй извиняйся трогай придумывай"
    )
    + r"(?!\w)"
)
_RU_WHEN = (
    r"когда (?:я|мы|ты|речь|тебя)\b|если (?:я|мы|ты|речь)\b|(?:каждый|всякий) раз,? (?:как|когда) "
    r"|всякий раз "
)
_RU_FUTURE = (
    r"(?:впредь|отныне|с этого момента|с сегодняшнего дня|на будущее|в будущем|в дальнейшем"
    r"|теперь всегда|по умолчанию|как правило|с этих пор|теперь)(?!\w)"
)
RUSSIAN = Grammar(
    code="ru",
    triggers=(
        "всегда",
        "больше не",
        "больше",
        "перестань",
        "перестаньте",
        "никогда",
        "впредь",
        "отныне",
        "с этого момента",
        "с сегодняшнего дня",
        "на будущее",
        "в будущем",
        "в дальнейшем",
        "каждый раз",
        "всякий раз",
        "когда я",
        "если я",
        "называй",
        "называйте",
        "называть",
        "звать",
        "зовите",
        "на ты",
        "на вы",
        "зови",
        "обращайся",
        "обращайтесь",
        "предпочитаю",
        "предпочла",
        "предпочёл",
        "предпочел",
        "не нравится, когда",
        "не нравится когда",
        "нравится, когда",
        "не люблю, когда",
        "не люблю когда",
        "больше нравятся",
        "больше нравится",
        "по умолчанию",
        "терпеть не могу",
        "когда мы",
        "если мы",
        "удобнее",
        "теперь",
    ),
    future=alternatives(_RU_FUTURE),
    standing=alternatives(
        rf"{_RU_VERBS} (?:\S{{1,30}} ){{0,4}}?(?:всегда|никогда)(?!\w)",
        rf"(?:всегда|постоянно) (?:\S{{1,30}} ){{0,2}}?{_RU_VERBS}",
        r"никогда (?:\S{1,30} )?не (?:\w+(?:й|йте|ите|и|ь|ьте))\b(?! не)",
        r"(?:хочу|хотел бы|хотела бы|прошу|нужно|надо),? чтобы ты (?:\S{1,30} ){0,4}?(?:всегда"
        r"|никогда)\b",
        r"не \w+(?:й|йте|и|ите|ь|ьте) (?:\S{1,30} ){0,6}?(?:больше|никогда)\b",
        r"(?:больше )?не \w+(?:й|йте) больше\b|больше не \w+(?:й|йте)\b|перестань(?:те)? \w+ть",
        r"ты (?:должен|должна) (?:всегда|никогда) ",
    ),
    order=alternatives(
        rf"(?:не )?{_RU_VERBS}",
        r"(?:не|больше не) \w+(?:й|йте|и|ите)\b",
        rf"(?:[^\s,]{{1,20}} ){{1,3}}?{_RU_VERBS}",
        r"(?:всегда|никогда|только|никаких|без|нужно|надо) \S",
        r"(?:хочу|прошу),? чтобы ты\b",
        r"(?:можешь|мог бы ты) ",
    ),
    when=alternatives(_RU_WHEN),
    domain=alternatives(r"(?:для|в|при) (?!это|общем|целом|принципе|меня)[^,]{2,60}$"),
    domain_open=alternatives(
        rf"(?:для|в|при) (?!это)(?:[\w+#-]+ ){{1,4}}?(?=всегда\b|никогда\b|{_RU_VERBS})"
    ),
    address=alternatives(
        r"(?:называй|зови|называйте|зовите) меня (?!когда|если|завтра|на )\S",
        r"можешь (?:звать|называть) меня \S",
        r"не (?:называй|зови) меня \S",
        r"обращайся ко мне \S",
        r"обращайтесь ко мне \S",
        r"давай(?:те)? (?:теперь )?на (?:ты|вы)\b",
        r"(?:теперь )?на (?:ты|вы)\b",
    ),
    preference=alternatives(
        r"я (?:\w+ ){0,2}?предпочита(?:ю|л бы)\b",
        r"предпочитаю\b",
        r"мне (?:очень |больше |совсем )?не нравится,? когда ты\b",
        r"мне (?:очень |больше )?нравится,? когда ты\b",
        r"мне больше нравятся? \S",
        r"(?:я )?(?:не люблю|терпеть не могу|ненавижу),? когда ты\b",
        r"мне удобнее\b",
        r"я бы предпоч(?:ёл|ла|ел)\b",
    ),
    one_choice=alternatives(
        r"предпочитаю (?:этот|эту|это|перв\w+|втор\w+|треть\w+|последн\w+|друг\w+"
        r"|вариант)(?: вариант\w*| верси\w+)?"
        r" ?\w?\s*(?:$|[,.;!])",
        r"\b(?:сегодня|завтра|в этот раз|сейчас|на этот раз|на этой неделе)\b",
    ),
    late_future=alternatives(rf"\b{_RU_FUTURE}"),
    late_when=alternatives(r"\b(?:" + _RU_WHEN + r").{2,}"),
    domain_end=alternatives(
        r"\b(?:в|для|при) (?:\w+ ){0,2}?(?:коде|кода|письмах|писем|python|javascript|sql"
        r"|примерах|рецептах|отчётах|отчетах"
        r"|документах|проектах|текстах)(?: на \w+)?$"
    ),
)

_ZH_ORDER = (
    r"(?:请|麻烦)?(?:你)?(?:不要|不用|别|勿|必须|要|用|先|都|只|把|给我|给|帮我|叫我|称呼我?|回答|回复|写|使用|列出|说明"
    r"|解释|避免|保持|记得|按|以|直接|一律|总是|一直|永远|始终|加上|附上|注明|翻译|标明|提供|检查|确认|问我|提醒|所有)"
)
_ZH_FUTURE = (
    r"(?:从现在(?:起|开始)|从今以后|从今往后|从今天(?:起|开始)|今后|以后|往后|将来|默认(?:情况下)?)"
)
_ZH_WHEN = r"(?:当|如果|每当|只要|每次|一旦)(?:我|我们|你|有人)?"
_ZH_ALWAYS = r"(?:一直|总是|永远|始终|一律|每次都|务必|从来|绝对|千万)"
CHINESE = Grammar(
    code="zh",
    is_spaced=False,
    triggers=(
        "以后",
        "从现在",
        "从今",
        "今后",
        "往后",
        "一律",
        "永远",
        "总是",
        "一直",
        "始终",
        "每次",
        "每当",
        "当我",
        "如果我",
        "叫我",
        "称呼我",
        "更喜欢",
        "偏好",
        "不喜欢你",
        "喜欢你",
        "绝对不",
        "千万",
        "务必",
        "只要我",
        "讨厌你",
        "宁愿",
        "宁可",
        "的时候",
        "时，",
        "默认",
        "不要再",
    ),
    future=alternatives(_ZH_FUTURE),
    standing=alternatives(
        rf"{_ZH_ALWAYS}(?:不要|不能|不许|别|不得|用|要|先|请|给|把|以|使用|保持|回答|按|写|加|检查|提供|列|标)",
        r"(?:不要|别)再",
        r"(?:我希望|我想|我要|希望)你(?:以后)?(?:能)?(?:一直|总是|永远|始终|每次)",
        rf"你(?:要|必须|应该|需要)?{_ZH_ALWAYS}(?:要|用|先|不)",
        r"(?:用|使用)[^,，]{1,12}(?:一直|总是)",
    ),
    order=alternatives(
        _ZH_ORDER,
        r"[^,，。]{1,12}(?:都|一律|必须|不要|要)(?!是|会|在|有)",
        r"(?:我希望|我想|我要)你",
    ),
    when=alternatives(
        rf"{_ZH_WHEN}[^,，]{{1,40}}(?=[,，])", r"[^,，]{1,24}(?:的时候|时|的话)(?=[,，])"
    ),
    domain=alternatives(r"(?:对于|关于|在|针对)[^,，]{1,24}(?:中|里|上|方面)?$"),
    domain_open=None,
    address=alternatives(
        r"(?:请|就|可以|你可以|都)*(?:叫我|称呼我为?|喊我)(?!的|去|来|做|明天|吃|回|上|不|怎)[^\s,，。]{1,8}",
        r"(?:不要|别)(?:再)?叫我",
    ),
    preference=alternatives(
        r"(?:比起[^,，]{1,20}[,，])?我(?:一般|通常|个人|比较|还是|其实)?(?:更|比较)?(?:喜欢|偏好|倾向于|偏爱)(?!过|上|的人)",
        r"我(?:真的|很|特别|非常)?(?:不喜欢|讨厌|不希望)你",
        r"我(?:很|特别|非常)?喜欢你",
        r"我宁[愿可]",
        r"我的偏好是",
    ),
    one_choice=alternatives(
        r"(?:喜欢|偏好)(?:这|那|第|另)(?:一|二|三|两|个|种|款|版|几)",
        r"(?:今天|明天|这次|现在|今晚|这周)",
    ),
    late_future=alternatives(_ZH_FUTURE),
    late_when=alternatives(r"(?:每当|每次|当我)[^,，]{1,30}(?:时候?|的话)"),
    domain_end=alternatives(r"(?!x)x"),
)
