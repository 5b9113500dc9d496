"""Invented names: goods, companies, people, documents."""

NOUNS = (
    "battery printer lamp desk chair router cable mouse keyboard monitor speaker camera tablet "
    "scanner charger adapter folder stapler pencil marker notebook envelope binder ruler "
    "scissors magnet whiteboard projector headset microphone drill hammer ladder bucket sponge "
    "kettle blanket pillow candle mirror"
).split()
COMPANIES = (
    "Acme Borealis Cobalt Dunmore Eastgate Fairway Granite Harbor Ironside Juniper Kestrel "
    "Lakeview Meridian Northwind Oakridge Pinnacle Quarry Redwood Summit Tamarack Umbra Vertex "
    "Westfield Yarrow Zenith Alder Beacon Crescent"
).split()
FIRST_NAMES = (
    "Anna Boris Carla David Elena Felix Grace Hugo Irene Jonas Karin Leo Maria Nora Oscar Paula "
    "Robin Sofia Tomas Vera"
).split()
LAST_NAMES = (
    "Reed Stone Baker Fisher Walsh Novak Lind Moreau Keller Rossi Costa Berg Hale Quinn Parker "
    "Sato Wood Frost Young Abbot"
).split()
TEAMS = ("sales", "stores", "finance", "support")
DOCUMENTS = (
    "report summary notes ledger review minutes digest outline journal register bulletin draft"
).split()
MEMOS = "memo card slip sheet ticket label".split()
