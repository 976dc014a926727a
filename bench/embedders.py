"""Compare embedders: recall of the evidence, CPU time, memory and languages.

    python -m bench.embedders --data FOLDER --embedder multilingual --embedder e5

FOLDER has `locomo-dev.json`, `beam-dev.json` and `realmem-dev.json`, all in LoCoMo's shape. The
first conversations of each are searched, with two turns an event; of the long ones only the events
with evidence and a share of the others, so that the run takes minutes. Nothing is fitted here:
ranking has the same ranker for every embedder. Each embedder runs in a process of its own, and its
figures are stored in the folder of `--store`, so that an interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.locomo import Conversation, Question, conversations
from bench.report import table, write_section
from bench.spaces import ranking, view_of
from remembrancer.search import Embedder, cosines, load_ranker, open_embedder, parse_query
from remembrancer.search.embedders.centring import SAMPLES

SETS = {"locomo": 2, "beam": 4, "realmem": 1}  # conversations of each
THINNED = {"beam": 4, "realmem": 2}  # of the events without evidence, every so many-th is kept
MOST = 10
DEPTH = 60  # events ranked, in case some are later than the question may see
TIMED = 100  # turns and queries to time
# Facts, and a question about each in nine languages. No question shares a word with its fact.
FACTS = (
    "My dentist appointment was moved to the fourteenth.",
    "We keep the spare house keys under the blue flowerpot.",
    "The invoices are stored in PostgreSQL since last winter.",
    "Tom is allergic to peanuts and shellfish.",
    "Our flight to Lisbon takes off at seven in the morning.",
    "The dog was vaccinated against rabies in April.",
    "I sold my old car and bought a bicycle.",
    "Grandma's soup needs two hours on a low flame.",
)
QUESTIONS: dict[str, tuple[str, ...]] = {
    "de": (
        "Wann muss ich zum Zahnarzt?",
        "Wo liegt der Ersatzschlüssel?",
        "In welcher Datenbank liegen die Rechnungen?",
        "Was darf Tom nicht essen?",
        "Wann fliegen wir ab?",
        "Welche Impfung bekam der Hund?",
        "Was habe ich statt des Autos?",
        "Wie lange kocht Omas Suppe?",
    ),
    "fr": (
        "Quand est mon rendez-vous chez le dentiste ?",
        "Où se trouve la clé de secours ?",
        "Dans quelle base de données sont les factures ?",
        "À quoi Tom est-il allergique ?",
        "À quelle heure part notre avion ?",
        "Contre quoi le chien a-t-il été vacciné ?",
        "Par quoi ai-je remplacé ma voiture ?",
        "Combien de temps cuit la soupe de grand-mère ?",
    ),
    "es": (
        "¿Cuándo tengo cita con el dentista?",
        "¿Dónde está la llave de repuesto?",
        "¿En qué base de datos están las facturas?",
        "¿A qué es alérgico Tom?",
        "¿A qué hora sale nuestro vuelo?",
        "¿Contra qué vacunaron al perro?",
        "¿Qué compré en lugar del coche?",
        "¿Cuánto tarda la sopa de la abuela?",
    ),
    "ru": (
        "Когда мне идти к стоматологу?",
        "Где лежит запасной ключ?",
        "В какой базе данных хранятся счета?",
        "На что у Тома аллергия?",
        "Во сколько вылетает наш самолёт?",
        "От чего привили собаку?",
        "Что я купил вместо машины?",
        "Сколько варится бабушкин суп?",
    ),
    "zh": (
        "我什么时候去看牙医?",
        "备用钥匙放在哪里?",
        "发票存在哪个数据库?",
        "汤姆对什么过敏?",
        "我们的航班几点起飞?",
        "狗打了什么疫苗?",
        "我卖车后买了什么?",
        "奶奶的汤要煮多久?",
    ),
    "ja": (
        "歯医者の予約はいつですか。",
        "予備の鍵はどこにありますか。",
        "請求書はどのデータベースにありますか。",
        "トムは何のアレルギーですか。",
        "私たちの飛行機は何時に出ますか。",
        "犬は何の予防接種を受けましたか。",
        "車の代わりに何を買いましたか。",
        "おばあちゃんのスープは何時間煮ますか。",
    ),
    "ar": (
        "متى موعدي عند طبيب الأسنان؟",
        "أين المفتاح الاحتياطي؟",
        "في أي قاعدة بيانات توجد الفواتير؟",
        "من ماذا يعاني توم من حساسية؟",
        "متى تقلع طائرتنا؟",
        "ضد ماذا تم تطعيم الكلب؟",
        "ماذا اشتريت بدل السيارة؟",
        "كم من الوقت تحتاج شوربة الجدة؟",
    ),
    "tr": (
        "Dişçi randevum ne zaman?",
        "Yedek anahtar nerede?",
        "Faturalar hangi veritabanında?",
        "Tom'un neye alerjisi var?",
        "Uçağımız saat kaçta kalkıyor?",
        "Köpek hangi aşıyı oldu?",
        "Araba yerine ne aldım?",
        "Büyükannenin çorbası ne kadar sürede pişer?",
    ),
    "hi": (
        "दंत चिकित्सक से मेरी मुलाकात कब है?",
        "अतिरिक्त चाबी कहाँ है?",
        "बिल किस डेटाबेस में हैं?",
        "टॉम को किस चीज़ से एलर्जी है?",
        "हमारी उड़ान कितने बजे है?",
        "कुत्ते को कौन सा टीका लगा?",
        "कार की जगह मैंने क्या खरीदा?",
        "दादी का सूप कितनी देर पकता है?",
    ),
}


def histories(folder: Path, name: str, most: int) -> list[Conversation]:
    """Return the first conversations of a set, two turns an event, the long ones thinned."""
    read = conversations(folder / f"{name}-dev.json")[:most]
    return [thinned(one.paired(), THINNED.get(name, 1)) for one in read]


def thinned(conversation: Conversation, step: int) -> Conversation:
    """Return a conversation with its evidence and every `step`-th of its other events."""
    evidence = {turn for question in conversation.questions for turn in question.evidence}
    evidence |= {question.before for question in conversation.questions}
    events = [
        event
        for number, event in enumerate(conversation.events)
        if number % step == 0 or evidence & set(event.turns)
    ]
    return replace(conversation, events=tuple(events))


def allowed(conversation: Conversation, question: Question) -> int:
    """Return the number of events, from the first, that a question may see."""
    for number, event in enumerate(conversation.events):
        if question.before and question.before in event.turns:
            return number
    return len(conversation.events)


def recall(conversation: Conversation, question: Question, best: list[int]) -> float:
    """Return the share of the evidence among the best events that the question may see."""
    end = allowed(conversation, question)
    seen_turns = [conversation.events[n].turns for n in [n for n in best if n < end][:MOST]]
    return len(question.evidence & {turn for turns in seen_turns for turn in turns}) / len(
        question.evidence
    )


def quality(embedder: Embedder, folder: Path, sets: dict[str, int]) -> dict[str, list[float]]:
    """Return recall@10 of each question by set, of search and of cosine alone."""
    result: dict[str, list[float]] = {}
    ranker = load_ranker(embedder.name)
    for name, most in sets.items():
        for conversation in histories(folder, name, most):
            view = view_of(conversation, embedder)
            for question in conversation.questions:
                scored = ranking(view, question.text, embedder)
                best = [one.event for one in scored.ranked(ranker, {}, DEPTH)]
                result.setdefault(name, []).append(recall(conversation, question, best))
                if embedder.dimensions:
                    [vector] = embedder.encode_queries([parse_query(question.text).text])
                    order = np.argsort(-cosines(view, vector), kind="stable")
                    near = list(dict.fromkeys(view["event"][order].tolist()))[: 5 * DEPTH]
                    value = recall(conversation, question, near)
                    result.setdefault(f"{name} cosine", []).append(value)
    return result


def languages(embedder: Embedder) -> dict[str, float]:
    """Return the share of questions whose nearest text is their fact, by language.

    The texts are English facts and texts in many languages that are none.
    """
    passages = embedder.encode([*FACTS, *SAMPLES])
    return {
        language: float(
            np.mean(
                np.argmax(embedder.encode_queries(questions) @ passages.T, axis=1)
                == np.arange(len(FACTS))
            )
        )
        for language, questions in QUESTIONS.items()
    }


def cpu_ms(embed: Any, texts: list[str]) -> float:
    """Return CPU milliseconds of one text, embedded one by one as in a write."""
    embed(texts[:1])
    start = time.process_time()
    for text in texts:
        embed([text])
    return (time.process_time() - start) * 1000 / len(texts)


def measure(name: str, folder: Path, sets: dict[str, int]) -> dict[str, Any]:
    """Return all figures of one embedder."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    embedder = open_embedder(name)
    figures: dict[str, Any] = {"name": embedder.name, "dimensions": embedder.dimensions}
    if embedder.dimensions:
        [first] = histories(folder, "locomo", 1)
        turns = [event.query for event in first.events[:TIMED]]
        figures["turn"] = cpu_ms(embedder.encode, turns)
        figures["query"] = cpu_ms(
            embedder.encode_queries, [one.text for one in first.questions[:TIMED]]
        )
        [long] = histories(folder, "beam", 1)
        texts = [event.response[:2000] for event in long.events[:20]]
        figures["passage"] = cpu_ms(embedder.encode, texts)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        figures["rss_mb"] = (after - before) / 1024
        figures["languages"] = languages(embedder)
    figures["recall"] = quality(embedder, folder, sets)
    return figures


def report(rows: dict[str, dict[str, Any]], sets: dict[str, int]) -> str:
    """Return the tables of recall, cost and languages."""
    counts = {name: len(next(iter(rows.values()))["recall"][name]) for name in sets}
    heads = ["embedder", *(f"{name} ({n} questions)" for name, n in counts.items())]
    recalls = [
        [
            name,
            *(
                f"{np.mean(row['recall'][one]):.3f}"
                + (
                    f" ({np.mean(row['recall'][f'{one} cosine']):.3f})"
                    if f"{one} cosine" in row["recall"]
                    else ""
                )
                for one in sets
            ),
        ]
        for name, row in rows.items()
    ]
    with_vectors = {name: row for name, row in rows.items() if row["dimensions"]}
    costs = [
        [
            name,
            str(row["dimensions"]),
            *(f"{row[one]:.1f}" for one in ("turn", "query", "passage")),
            f"{row['rss_mb']:.0f}",
        ]
        for name, row in with_vectors.items()
    ]
    tongues = [
        [name, *(f"{row['languages'][one]:.2f}" for one in QUESTIONS)]
        for name, row in with_vectors.items()
    ]
    cost_heads = ["embedder", "dimensions", "short turn", "query", "2,000 characters", "memory MB"]
    return "\n".join(
        [
            "Evidence recall@10 of search, in brackets of cosine alone:",
            "",
            table(heads, recalls),
            "",
            "CPU milliseconds of one text, embedded alone, and resident memory of the model:",
            "",
            table(cost_heads, costs),
            "",
            (
                "Share of questions in a language whose nearest text is the English fact, of "
                f"{len(FACTS)} each, among {len(FACTS) + len(SAMPLES)} texts in many languages:"
            ),
            "",
            table(["embedder", *QUESTIONS], tongues),
            "",
            *(_difference(rows, one) for one in sets),
        ]
    )


def _difference(rows: dict[str, dict[str, Any]], name: str) -> str:
    """Return the paired differences from `multilingual` of a set, with their 95 % intervals."""
    base = rows.get("multilingual")
    if base is None:
        return ""
    parts = []
    rng = np.random.default_rng(1)
    for embedder, row in rows.items():
        if embedder in ("multilingual", "none"):
            continue
        change = np.array(row["recall"][name]) - np.array(base["recall"][name])
        means = change[rng.integers(len(change), size=(2000, len(change)))].mean(axis=1)
        low, high = np.percentile(means, [2.5, 97.5])
        parts.append(f"{embedder} {change.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
    return f"- {name}, change from `multilingual` (95 %): " + ", ".join(parts)


def main() -> None:
    """Measure each embedder in a process of its own and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--embedder", action="append", required=True, help="as in the setting")
    parser.add_argument("--one", action="store_true", help="print the figures of one as JSON")
    parser.add_argument("--store", type=Path, help="folder for the figures of each embedder")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.embedder[0], arguments.data, SETS)))
        return
    rows = {}
    for name in arguments.embedder:
        command = [sys.executable, "-m", "bench.embedders", "--one"]
        command += ["--data", str(arguments.data), "--embedder", name]
        label = name if not name.startswith("onnx:") else f"onnx:{Path(name).name}"
        place = arguments.store / f"{label.replace(':', '-')}.json" if arguments.store else None
        if place is None or not place.exists():
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            rows[label] = json.loads(output)
        else:
            rows[label] = json.loads(place.read_text("utf-8"))
        if place is not None:
            place.write_text(json.dumps(rows[label]), "utf-8")
    names = " ".join(f"--embedder {name}" for name in rows)
    write_section(
        "embedders",
        "Embedders",
        f"python -m bench.embedders --data FOLDER {names}",
        report(rows, SETS),
    )


if __name__ == "__main__":
    main()
