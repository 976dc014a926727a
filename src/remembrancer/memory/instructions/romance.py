"""Words and patterns of standing instructions in French, Spanish and Italian.

Imperatives are listed: in these languages an order and a statement often have the same form.
"""

from __future__ import annotations

from .grammar import Grammar, alternatives, any_of

_FR_VERBS = (
    any_of(
        "réponds répondez répond reponds repond écris ecris écrivez utilise utilisez emploie"
        " donne donnez mets"
        " mettez montre montrez explique expliquez garde gardez fais faites évite évitez cite citez"
        " demande demandez ajoute ajoutez commence commencez termine traduis parle propose proposez"
        " indique précise formate note notez vérifie vérifiez teste liste résume appelle appelez"
        " inclus"
        " incluez rappelle tutoie vouvoie reste sois soyez pense pensez laisse limite affiche signe"
        " arrête cesse convertis sépare compare calcule envoie présente organise structure rédige"
        " préviens cherche enregistre sauvegarde supprime efface oublie adresse"
    )
    + r"(?:-(?:moi|les|le|la|toi|nous|lui|y|m'|en)){0,2}(?![\wéèêà-])"
)
_FR_ALWAYS = r"(?:toujours|jamais|systématiquement|à chaque fois)"
_FR_WHEN = (
    r"(?:quand|lorsque|dès que) (?:je|tu|on|nous)\b|lorsqu'on |(?:à )?chaque fois que? |dès qu'on "
    r"|si (?:je|tu|on)\b|toutes les fois que "
)
_FR_FUTURE = (
    r"(?:désormais|dorénavant|à partir de maintenant|à partir d'aujourd'hui|a partir de maintenant"
    r"|à l'avenir|a l'avenir|dès maintenant|pour la suite|par défaut|en règle générale)(?!\w)"
)
FRENCH = Grammar(
    code="fr",
    triggers=(
        "toujours",
        "plus de",
        "plus",
        "arrête",
        "arrêtez",
        "jamais",
        "systématiquement",
        "désormais",
        "dorénavant",
        "partir de maintenant",
        "partir d'aujourd'hui",
        "l'avenir",
        "pour la suite",
        "par défaut",
        "chaque fois",
        "quand je",
        "lorsque je",
        "si je ",
        "appelle",
        "tutoie",
        "vouvoie",
        "préfère",
        "prefere",
        "appelez",
        "appeler",
        "appelles",
        "tutoyer",
        "j'aime",
        "je n'aime",
        "je déteste",
        "j'aimerais mieux",
        "je trouve",
        "préférerais",
        "règle générale",
        "quand tu",
        "quand on",
    ),
    future=alternatives(_FR_FUTURE),
    standing=alternatives(
        rf"{_FR_VERBS} (?:\S{{1,30}} ){{0,4}}?{_FR_ALWAYS}(?!\w)",
        r"(?:ne |n')(?!a |ai |as |est |ont |avons |sont )(?:(?:me|m'|te|le|la|les|y"
        r"|en) ?)?[\wéèêà]+(?:-\w+)?"
        r" (?:\S{1,30} ){0,2}?jamais\b",
        r"(?:ne |n')[\wéèêà]+(?:-\w+)? plus (?:de |d'|ça|les |la |le |comme )",
        r"arrête[sz]? de \S",
        r"il (?:faut|ne faut|faudrait) (?:toujours|jamais|systématiquement) ",
        r"tu (?:dois|devrais|peux|ne dois) (?:toujours|jamais) ",
        r"(?:je (?:veux|voudrais|souhaite)|j'aimerais) que tu (?:\S{1,30} ){0,4}?(?:toujours"
        r"|jamais)\b",
        r"(?:merci de|pense à|veille à|assure-toi de) (?:\S{1,30} ){0,3}?(?:toujours|jamais) ",
        r"(?:toujours|jamais|ne jamais) (?!pas|eu|été|vu|le|la|les|un|une|aussi|mon"
        r"|là)\w{2,}(?:er|ir|re)\b",
        r"(?:toujours|ne jamais) [^,]{3,60} (?:stp|s'il te plaît)",
    ),
    order=alternatives(
        rf"{_FR_VERBS}",
        r"(?:ne |n')\S+ (?:\S+ ){0,2}?(?:pas|plus|jamais|que)\b",
        r"(?:pas|plus|jamais|toujours|merci|uniquement|seulement|il faut|tu (?:dois|peux"
        r"|devrais))\b",
        r"(?:je (?:veux|voudrais|souhaite)|j'aimerais) que tu\b",
    ),
    when=alternatives(_FR_WHEN),
    domain=alternatives(
        r"(?:pour|dans|en) (?!l'instant|ce |cet|le moment|fait|plus|effet|moi|ma part)[^,]{2,60}$"
    ),
    domain_open=None,
    address=alternatives(
        r"appelle[sz]?-?(?: )?moi (?!quand|si|demain|plus tard|dès|à |au |ce |avant|après)\S",
        r"tu peux m'appeler \S",
        r"ne m'appelle (?:plus|pas|jamais) ",
        r"tutoie-moi|vouvoie-moi",
        r"on (?:se tutoie|peut se tutoyer)",
    ),
    preference=alternatives(
        r"je (?:\w+ )?préf(?:è|é)re(?:rais)?\b",
        r"je prefere\b",
        r"j'aime (?:bien |mieux |beaucoup )?quand tu\b",
        r"j'aime mieux\b",
        r"(?:je n'aime|j'aime) (?:pas|vraiment pas|pas du tout) (?:quand|que) tu\b",
        r"je déteste (?:quand|que) tu\b",
        r"j'aimerais mieux\b",
        r"je trouve [^,]{2,60} plus (?:clair|lisible|pratique|facile|agréable)",
    ),
    one_choice=alternatives(
        r"préfère (?:la|le|les|cette|ce|celui|celle|l'option|l')[- ]?(?:ci|là|premi\w+|deuxi\w+"
        r"|second\w*"
        r"|troisi\w+|derni\w+|autre|bleue?|rouge|version|option|proposition)? ?(?:version|option"
        r"|proposition)?"
        r" ?\w?\s*(?:$|[,.;!])",
        r"\b(?:aujourd'hui|demain|cette fois|ce soir|pour l'instant|cette semaine)\b",
    ),
    late_future=alternatives(rf"\b{_FR_FUTURE}"),
    late_when=alternatives(r"\b(?:" + _FR_WHEN + r").{2,}"),
    domain_end=alternatives(
        r"\b(?:pour|dans|en) (?:(?:le|la|les|mes|mon|ma|tes|tout|un|du) ?){0,2}(?:code \w+|code"
        r"|e-?mails?|lettres?"
        r"|python|javascript|sql|exemples|recettes|rapports?|documents|projets?|textes"
        r"|courriels?)(?: \w+)?$"
    ),
)

_ES_VERBS = (
    any_of(
        "responde respóndeme respondeme contesta contéstame escribe escríbeme usa utiliza dame"
        " da dime di pon"
        " muestra muéstrame explica explícame mantén haz hazme evita cita pregunta pregúntame"
        " añade agrega"
        " empieza comienza termina traduce habla háblame propón sugiere indica especifica formatea"
        " verifica comprueba prueba lista resume llama incluye recuerda recuérdame sé deja"
        " limita ordena"
        " firma convierte separa compara calcula envía envíame saca extrae revisa avísame avisa"
        " busca"
        " guarda tutéame tuteame trátame tratame dirígete ten redacta estructura organiza"
    )
    + r"(?![\wáéíóúñ])"
)
_ES_SUBJUNCTIVE = (
    any_of(
        "respondas contestes escribas uses utilices des digas pongas muestres expliques hagas"
        " cites preguntes"
        " añadas agregues empieces termines traduzcas hables propongas sugieras incluyas borres"
        " elimines"
        " cambies toques modifiques ejecutes hagas mandes envíes guardes repitas olvides"
        " instales subas"
        " me te lo la los las pidas asumas supongas llames inventes mezcles dejes"
    )
    + r"(?![\wáéíóúñ])"
)
_ES_WHEN = (
    r"cuando (?:te |me |yo )?(?:\w+(?:e|o|es|as|a|amos|emos)) ?|siempre que (?!.{0,3}$)"
    r"|cada vez que "
    r"|si te |si (?:pregunto|hablo|pido|escribo|menciono)\b"
)
_ES_FUTURE = (
    r"(?:a partir de (?:ahora|hoy|este momento)|de ahora en (?:adelante|más)|desde ahora"
    r"|en adelante"
    r"|en el futuro|en lo sucesivo|por defecto|por norma|como regla general)(?!\w)"
)
SPANISH = Grammar(
    code="es",
    triggers=(
        "siempre",
        "deja de",
        "ya no",
        "nunca",
        "jamás",
        "a partir de",
        "de ahora en",
        "desde ahora",
        "en adelante",
        "en el futuro",
        "en lo sucesivo",
        "por defecto",
        "cada vez que",
        "cuando te",
        "cuando me",
        "llámame",
        "llamame",
        "tutéame",
        "tuteame",
        "trátame",
        "prefiero",
        "llamarme",
        "llames",
        "no me gusta",
        "me gusta que",
        "odio que",
        "preferiría",
        "si te ",
        "cuando yo",
        "cuando pregunte",
        "cuando hable",
        "cuando pregunto",
        "cuando hablo",
        "me gustan más",
        "regla general",
        "cuando escriba",
        "cuando pida",
    ),
    future=alternatives(_ES_FUTURE),
    standing=alternatives(
        rf"{_ES_VERBS} (?:\S{{1,30}} ){{0,4}}?siempre(?!\w)",
        rf"siempre {_ES_VERBS}",
        rf"(?:nunca|jamás|no) (?:\S{{1,6}} )?{_ES_SUBJUNCTIVE}(?=.*\b(?:nunca|jamás)\b)",
        rf"(?:nunca|jamás) (?:(?:me|te|lo|la|los|las|le) )?{_ES_SUBJUNCTIVE}",
        r"(?:deja|dejá) de \w+r",
        rf"ya no (?:me )?{_ES_SUBJUNCTIVE}",
        r"quiero que (?:\S{1,30} ){0,3}?(?:siempre|nunca) ",
        r"(?:debes|tienes que) (?:siempre|nunca) ",
        r"(?:siempre|nunca) (?:debes|tienes que) ",
        r"quiero que \S{1,30} siempre\b",
    ),
    order=alternatives(
        rf"{_ES_VERBS}",
        rf"no (?:me |te |lo |la )?{_ES_SUBJUNCTIVE}",
        r"(?:siempre|nunca|jamás|solo|sólo|nada de|no más) \S",
        r"(?:quiero que|necesito que|me gustaría que|debes|tienes que|puedes)\b",
    ),
    when=alternatives(_ES_WHEN),
    domain=alternatives(r"(?:para|en) (?!este|esta|esto|realidad|fin|serio|eso|mí)[^,]{2,60}$"),
    domain_open=alternatives(
        rf"(?:para|en) (?!este|esta)(?:[\w+#-]+ ){{1,4}}?(?={_ES_VERBS}|siempre\b|nunca\b)"
    ),
    address=alternatives(
        r"(?:llámame|llamame) (?!cuando|si|mañana|luego|más|a |al |después|antes|por)\S",
        r"puedes llamarme \S",
        r"no me llames (?!cuando|mañana|hoy|a )\S",
        r"tutéame|tuteame|trátame de|tratame de",
    ),
    preference=alternatives(
        r"(?:yo )?(?:\w+mente )?prefiero\b",
        r"preferiría que\b",
        r"no me gusta (?:nada )?(?:que|cuando) \w+(?:s|as|es)\b",
        r"me gusta (?:más )?(?:que|cuando) (?:me )?\w+(?:as|es)\b",
        r"odio que \w+s\b",
        r"me gustan? más\b",
    ),
    one_choice=alternatives(
        r"prefiero (?:el|la|los|las|ese|esa|este|esta|esto|eso|opción)(?: (?:primer\w*|segund\w*"
        r"|tercer\w*|últim\w*"
        r"|otr\w|opción|versión|azul|roj\w))? ?(?:opción|versión)? ?\w?\s*(?:$|[,.;!])",
        r"\b(?:hoy|mañana|esta vez|esta noche|por ahora|esta semana)\b",
    ),
    late_future=alternatives(rf"\b{_ES_FUTURE}"),
    late_when=alternatives(
        r"\b(?:cuando (?:te|me|yo|pregunt|habl|escrib|pid)|cada vez que |siempre que |si te ).{2,}"
    ),
    domain_end=alternatives(
        r"\b(?:para|en) (?:(?:el|la|los|las|mi|mis|tus|código) ){0,2}(?:código|correos?|cartas?"
        r"|python|javascript"
        r"|sql|ejemplos|recetas|informes?|documentos|proyectos?|textos|e-?mails?)(?: (?:de"
        r"|en) \w+| \w+)?$"
    ),
)

_IT_VERBS = (
    any_of(
        "rispondi rispondimi scrivi scrivimi usa utilizza dammi dimmi metti mostra mostrami"
        " spiega spiegami mantieni"
        " tieni fai fammi evita cita chiedi chiedimi aggiungi inizia comincia termina traduci"
        " parla parlami"
        " proponi suggerisci indica specifica formatta verifica controlla prova elenca riassumi"
        " chiama"
        " includi ricorda ricordami sii resta lascia limita ordina firma converti separa"
        " confronta calcola"
        " invia mandami estrai rivedi avvisami cerca salva dai rivolgiti organizza annota smetti"
    )
    + r"(?![\wàèéìòù])"
)
_IT_WHEN = (
    r"quando (?:ti|mi|io|ci|chiedo|parlo|scrivo|tu|parliamo|domando)\b|ogni volta che "
    r"|ogniqualvolta "
    r"|tutte le volte che |se (?:ti|mi|chiedo|parlo|scrivo)\b|qualora "
)
_IT_FUTURE = (
    r"(?:d'ora in (?:poi|avanti)|da (?:ora|adesso|oggi) in (?:poi|avanti)|in futuro|per il futuro"
    r"|di default|di norma|come regola generale)(?!\w)"
)
ITALIAN = Grammar(
    code="it",
    triggers=(
        "sempre",
        "smetti",
        "smettila",
        "più",
        "mai ",
        "ora in poi",
        "ora in avanti",
        "adesso in poi",
        "oggi in poi",
        "in futuro",
        "per il futuro",
        "ogni volta",
        "quando ti",
        "quando mi",
        "chiamami",
        "chiamarmi",
        "dammi del",
        "preferisco",
        "non mi piace",
        "mi piace quando",
        "mi piace che",
        "odio quando",
        "preferirei",
        "se ti ",
        "di default",
        "di norma",
        "quando chiedo",
        "quando parlo",
        "quando parliamo",
        "quando scrivo",
        "regola generale",
        "mi piacciono",
    ),
    future=alternatives(_IT_FUTURE),
    standing=alternatives(
        rf"{_IT_VERBS} (?:\S{{1,30}} ){{0,4}}?sempre(?!\w)",
        rf"sempre {_IT_VERBS}",
        r"non (?:\w{1,4} )?\w+(?:are|ere|ire|arlo|erlo|arla|armi|ermi|irmi) mai\b",
        rf"non {_IT_VERBS} mai\b",
        r"mai \w+(?:are|ere|ire)\b",
        r"(?:voglio|vorrei) che (?:tu )?(?:\S{1,30} ){0,4}?(?:sempre|mai)\b",
        r"smett(?:i|ila) di \S",
        r"non (?:\w{1,4} )?\w+(?:are|ere|ire) più\b",
        r"(?:devi|dovresti|non devi|puoi) (?:sempre|mai) ",
    ),
    order=alternatives(
        rf"{_IT_VERBS}",
        r"non (?:\w{1,4} )?\w+(?:are|ere|ire|arlo|armi|ermi)\b",
        r"(?:mai|sempre|solo|niente|nessun\w*) \S",
        r"(?:voglio|vorrei) che tu\b",
        r"(?:devi|dovresti|puoi)\b",
    ),
    when=alternatives(_IT_WHEN),
    domain=alternatives(
        r"(?:per|nel|nella|nei|nelle|in) (?!quest|ora|realtà|fondo|favore|il momento|me)[^,]{2,60}$"
    ),
    domain_open=alternatives(
        rf"(?:per|nel|nei|nelle|in) (?!quest)(?:[\w'+#-]+ ){{1,4}}?(?={_IT_VERBS}|sempre\b|mai\b)"
    ),
    address=alternatives(
        r"chiamami (?!quando|se|domani|dopo|più|a |al |prima|poi|subito|stasera)\S",
        r"puoi chiamarmi \S",
        r"non chiamarmi (?!quando|domani|oggi|a )\S",
        r"dammi del (?:tu|lei)",
    ),
    preference=alternatives(
        r"(?:io )?(?:\w+mente )?preferisco\b",
        r"preferirei che\b",
        r"non mi (?:piace|piacciono) (?:per niente )?(?:quando|che|se) ",
        r"mi piace (?:di più )?(?:quando|che|se) (?:tu |mi )?\w+i\b",
        r"odio quando \w+i\b",
        r"mi piacciono di più\b",
    ),
    one_choice=alternatives(
        r"preferisco (?:il|la|lo|i|le|quell\w+|quest\w+|l'|opzione)(?: ?(?:prim\w|second\w"
        r"|terz\w|ultim\w|altr\w|opzione"
        r"|versione|blu|ross\w))? ?(?:opzione|versione)? ?\w?\s*(?:$|[,.;!])",
        r"\b(?:oggi|domani|stavolta|questa volta|stasera|per ora|questa settimana)\b",
    ),
    late_future=alternatives(rf"\b{_IT_FUTURE}"),
    late_when=alternatives(r"\b(?:" + _IT_WHEN + r").{2,}"),
    domain_end=alternatives(
        r"\b(?:per|nel|nei|nelle|negli|in) (?:(?:il|la|le|i|mio|mie|miei|codice) ){0,2}(?:codice"
        r"|e-?mail|lettere|python"
        r"|javascript|sql|esempi|ricette|report|documenti|progetti|testi)(?: \w+)?$"
    ),
)
