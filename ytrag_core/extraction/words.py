"""Closed lists of English words that tell names from the rest."""

from __future__ import annotations

__all__ = [
    "BEFORE_PLACES",
    "CANONICAL",
    "COMMON_OPENERS",
    "DEMONYMS",
    "EVENT_WORDS",
    "FUNCTION_WORDS",
    "GIVEN_NAMES",
    "HONORIFICS",
    "MONTHS",
    "NAME_LINKS",
    "NATURE_WORDS",
    "NO_NAMES",
    "OFFICES",
    "OF_HEADS",
    "ORGANISATION_WORDS",
    "PLACES",
    "PLACE_WORDS",
    "PREPOSITIONS",
    "PRONOUNS",
    "STRUCTURE_WORDS",
    "VERBS",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(";"))


PRONOUNS = _words("he she it they his her its their who him them himself herself itself")

PREPOSITIONS = _words("""
    in on at from by for of with under during after before since until through to into near over
    between among against within without as about around across along behind beyond inside outside
    per than upon toward towards despite via like unlike following besides including throughout
""")

FUNCTION_WORDS = (
    PRONOUNS
    | PREPOSITIONS
    | _words("""
    a an the this that these those there here i i'm i've i'll i'd me my mine we us our ours you your
    yours whose whom and or but nor so yet if because although though while whereas when whenever
    where wherever what which why how whether once unless also however therefore thus hence moreover
    furthermore meanwhile nevertheless nonetheless instead otherwise indeed perhaps maybe still then
    now today tomorrow yesterday later earlier soon afterwards eventually finally initially
    originally currently recently previously formerly presently subsequently similarly additionally
    consequently accordingly usually generally typically often sometimes always never ever again
    already almost nearly approximately roughly especially particularly specifically notably
    officially historically traditionally technically not no yes none nobody nothing everyone
    everybody everything someone something anyone all any both each either neither every few many
    most much more several some such other others another same own one two three four five six seven
    eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million billion first
    second third fourth fifth last next half is are was were be been being am do does did done has
    have had having can could may might must shall should will would let don't doesn't didn't isn't
    aren't wasn't weren't can't couldn't won't wouldn't it's he's she's that's there's they're we're
    you're let's very too just only even well rather quite together upwards up down out off away ago
    apart due according based given up-to-date versus vs etc
""")
)

COMMON_OPENERS = _words("""
    scholars historians critics researchers scientists students teachers people men women children
    members players fans residents citizens workers soldiers officers officials authorities experts
    artists authors writers musicians actors actresses directors producers singers farmers animals
    plants birds fish cities towns villages countries states schools films movies books songs albums
    games languages religions companies products examples parts areas sources evidence research
    studies reports records statistics production construction filming work works life water oil gas
    gold food music art science history law education religion trade agriculture industry tourism
    transport transportation communication development growth population climate weather
    temperatures temperature rainfall winter summer spring autumn elections election voting
    membership admission entry access control power energy light heat sound speed time space money
    income taxes prices costs sales demand supply former founded located situated born built named
    known called released published written directed produced starring set based established created
    developed designed formed opened closed started begun began ended won lost made taken given seen
    used considered described regarded listed ranked rated upon ownership parents neither none
    besides aside contrary thanks similar different various numerous certain modern ancient early
    late new old great large small major minor main important famous popular local national
    international public private federal royal military political social economic cultural natural
    human physical chemical biological medical legal financial commercial industrial agricultural
    religious unlike among english-language long-term short-term nobel critical reception background
    plot cast overview references notes see external career personal biography geography
    demographics economy government culture sports features characters themes legacy notable awards
    contents introduction conclusion summary appendix chapter section table figure note question
    answer step part king queen prince princess emperor president minister governor mayor senator
    judge captain general colonel professor doctor bishop pope saint sir lord lady dr mr mrs ms
    company university museum church party council army navy parliament congress senate court house
    club team band group river lake mountain island county district province region city state
    country nation kingdom empire republic union league association society institute actor
    additional address adolescence allow alongside annual area ask attacks author average back
    backup bear begin below best better bless boots broken budget call capital change character
    charge citizenship clear code cold colonial come comic composer contemporary copies copyright
    courts currency current dead dear debt decade decades descent director don double drama dreadful
    efforts electric engine except explain families fan far father fetch film flight folk forward
    found friends full further gentlemen get give glorious good ground groups hand hard heads hear
    hide hold home hundreds ice individual inhabitants initial judicial jump keep knew know language
    launch lay lead leave left less little live locomotive long look lowest lunar mad make man meet
    merry mid miles mind minutes mission native nature nearby nephew nice night nonsense normal
    northeast nuclear older open overall pig player please plenty poor post prior protests quiet
    read recent regular release remember repeat responsible right rivers rose rulers run said saw
    say scientific sentence serpent serve service services sheets show siblings significant silence
    single sit slow snow snowfall somebody song soundtrack speak speakers spectre stand steam steel
    stop storms strange summers support suppose sure take tell terms think title touch track
    tropical true turn type unable uncle visa visit wall warm wood write year
""")

MONTHS = _words("""
    january february march april may june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday
""")

HONORIFICS = _words("""
    mr mrs ms miss dr prof professor sir lady lord dame captain colonel general major lieutenant
    sergeant admiral reverend rev father sister brother saint rabbi sheikh imam senator congressman
    congresswoman governor mayor president chancellor premier king queen prince princess emperor
    empress duke duchess count countess baron pope bishop archbishop cardinal judge justice
    ambassador secretary director coach
""")

NO_NAMES = _words("""
    north south east west northern southern eastern western northeast northwest southeast southwest
    winter summer spring autumn winters summers earth sun moon people men women man woman games
    season seasons city country state states war wars river island islands society order average
    annual league series number notes note book books time love life good bad hill hills house home
    runner culture freedom world religion economy family death power section chapter page table
    figure census total host recorded initial central street road avenue route highway team teams
    club school university college museum church company party council army force forces act bill
    article amendment court government minister member members rural urban internet web online
    website english-language king queen fm am tv zip cdp mhz khz ghz mw kw gdp cd dvd ep lp utc gmt
    est pst phd ba ma bsc msc mba ceo cfo vip diy pm id isbn hd pc xs ii iii iv vi vii viii ix
    b-side a-side jr sr inc ltd llc op vol no st mr mrs ms dr d.c tba n/a visa single album song
    film movie episode track tracks label genre producer writer director songwriter yes east-west
    left right republic empire kingdom union county district province region village town lake sea
""")

CANONICAL = {
    surface: name
    for name, surfaces in {
        "United States": "US;U.S.;U.S;USA;U.S.A.;United States of America",
        "United Kingdom": "UK;U.K.;U.K;United Kingdom of Great Britain and Northern Ireland",
        "Soviet Union": "USSR;U.S.S.R.;Union of Soviet Socialist Republics",
        "European Union": "EU;E.U.",
        "United Nations": "UN;U.N.",
        "World War I": "First World War;World War One;WWI;Great War",
        "World War II": "Second World War;World War Two;WWII",
        "Washington, D.C.": "Washington, DC;Washington D.C.;Washington DC;District of Columbia",
        "New York City": "New York, New York",
        "People's Republic of China": "PRC",
    }.items()
    for surface in surfaces.split(";")
}

OFFICES = _words("""
    president vice-president chancellor premier minister governor mayor senator congressman
    congresswoman representative secretary chairman chairwoman chairperson speaker ambassador deputy
    director commissioner captain colonel general lieutenant sergeant admiral commander marshal
    brigadier dr dr. mr mr. mrs mrs. ms ms. prof prof. professor rev. gov. sen. gen. col. lt. capt.
    sir judge justice coach head chief leader superintendent editor treasurer attorney sheriff
    inspector detective officer singer actor actress author politician
""")

OF_HEADS = _words("""
    diocese archdiocese congregation parish register order act treaty house statue book bill bureau
    court hall journal review game games campaign campaigns lord lords king queen prince princess
    duke duchess earl count archbishop bishop emperor sultan patriarch republic kingdom empire isle
    gulf declaration constitution articles charter wall battle dictionary encyclopedia history story
    tale tales legend adventures chronicles school faculty college hill son sons daughters knights
    museum gallery library tower temple lady master art arts people society bank church
""")

NAME_LINKS = _words(
    "de la le las los del della di da du des von van der den ter ten al el bin ibn y e dos das zu af"
)

ORGANISATION_WORDS = _words("""
    university college school academy institute institution company corporation corp inc ltd llc plc
    gmbh group association society council committee commission department ministry bureau agency
    office authority board foundation federation union league club party church museum library
    gallery hospital bank press records publishing publications studios pictures entertainment
    productions network broadcasting television radio airlines airways motors industries systems
    technologies laboratories laboratory center centre organization organisation army navy corps
    regiment division brigade squadron police parliament congress senate assembly court orchestra
    band ensemble theatre conference alliance front movement brotherhood order trust fund times post
    journal gazette newspaper magazine service services administration
""")

PLACE_WORDS = _words("""
    county district province state region territory city town village township municipality borough
    prefecture kingdom empire republic oblast voivodeship canton heights springs
""")

NATURE_WORDS = _words("""
    river lake sea ocean bay gulf strait creek falls mountain mountains mount peak hill hills valley
    island islands isle peninsula cape desert forest plateau basin beach coast
""")

STRUCTURE_WORDS = _words("""
    street avenue road highway square bridge station airport harbour harbor port castle palace tower
    fort cemetery garden gardens stadium arena reservoir dam canal park cathedral temple hall
""")

EVENT_WORDS = _words("""
    war battle siege revolution rebellion uprising treaty olympics games cup championship
    championships festival awards award election elections tournament bowl crisis massacre genocide
    conference congress summit coup crusade season series open grand prix tour exposition fair
    census act
""")

BEFORE_PLACES = _words("in near at from to across around throughout outside within")

DEMONYMS = _words("""
    afghan african albanian algerian american angolan arab arabian arabic argentine argentinian
    armenian asian australian austrian azerbaijani bangladeshi basque belarusian belgian bolivian
    bosnian brazilian british bulgarian burmese byzantine cambodian cameroonian canadian catalan
    catholic celtic chilean chinese christian colombian congolese croatian cuban czech danish dutch
    egyptian english estonian ethiopian european filipino finnish flemish french gaelic georgian
    german ghanaian greek hawaiian hebrew hindi hindu hungarian icelandic indian indonesian iranian
    iraqi irish islamic israeli italian jamaican japanese jewish kazakh kenyan korean kurdish
    kuwaiti latin latvian lebanese liberian libyan lithuanian macedonian malaysian maltese mexican
    mongolian moroccan muslim native nepalese nigerian norman norwegian ottoman pakistani
    palestinian persian peruvian polish portuguese prussian protestant roman romanian russian saudi
    scandinavian scottish senegalese serbian singaporean slavic slovak slovenian somali soviet
    spanish sudanese swedish swiss syrian taiwanese tamil thai tibetan tunisian turkish ukrainian
    urdu venezuelan victorian vietnamese welsh yugoslav zimbabwean americans africans asians
    australians arabs brazilians britons canadians christians catholics danes europeans egyptians
    germans greeks hindus hungarians indians iranians israelis italians jews koreans mexicans
    mongols muslims norwegians ottomans palestinians persians poles protestants romans russians
    scots serbs soviets swedes turks ukrainians
""")

PLACES = _phrases("""
    Afghanistan; Albania; Algeria; Angola; Argentina; Armenia; Australia; Austria; Azerbaijan; Bahrain;
    Bangladesh; Belarus; Belgium; Belize; Benin; Bhutan; Bolivia; Botswana; Brazil; Bulgaria; Burma;
    Cambodia; Cameroon; Canada; Chad; Chile; China; Colombia; Croatia; Cuba; Cyprus; Denmark; Djibouti;
    Ecuador; Egypt; England; Eritrea; Estonia; Ethiopia; Fiji; Finland; France; Gabon; Gambia; Georgia;
    Germany; Ghana; Greece; Guatemala; Guinea; Guyana; Haiti; Honduras; Hungary; Iceland; India;
    Indonesia; Iran; Iraq; Ireland; Israel; Italy; Jamaica; Japan; Jordan; Kazakhstan; Kenya; Kosovo;
    Kuwait; Kyrgyzstan; Laos; Latvia; Lebanon; Lesotho; Liberia; Libya; Lithuania; Luxembourg;
    Madagascar; Malawi; Malaysia; Maldives; Mali; Malta; Mauritania; Mauritius; Mexico; Moldova; Monaco;
    Mongolia; Montenegro; Morocco; Mozambique; Myanmar; Namibia; Nepal; Netherlands; Nicaragua; Niger;
    Nigeria; Norway; Oman; Pakistan; Palestine; Panama; Paraguay; Peru; Philippines; Poland; Portugal;
    Prussia; Qatar; Romania; Russia; Rwanda; Scotland; Senegal; Serbia; Singapore; Slovakia; Slovenia;
    Somalia; Spain; Sudan; Suriname; Sweden; Switzerland; Syria; Taiwan; Tajikistan; Tanzania; Thailand;
    Tibet; Togo; Tunisia; Turkey; Turkmenistan; Uganda; Ukraine; Uruguay; Uzbekistan; Venezuela; Vietnam;
    Wales; Yemen; Yugoslavia; Zambia; Zimbabwe; United States; United Kingdom; Great Britain; Britain;
    Soviet Union; South Africa; South Korea; North Korea; New Zealand; Saudi Arabia; Sri Lanka;
    Costa Rica; El Salvador; Puerto Rico; Hong Kong; Ivory Coast; Czech Republic; Northern Ireland; US;
    U.S.; USA; UK; U.K.; USSR; Europe; Asia; Africa; America; North America; South America;
    Latin America; Central America; Antarctica; Oceania; Middle East; Alabama; Alaska; Arizona; Arkansas;
    California; Colorado; Connecticut; Delaware; Florida; Hawaii; Idaho; Illinois; Indiana; Iowa; Kansas;
    Kentucky; Louisiana; Maine; Maryland; Massachusetts; Michigan; Minnesota; Mississippi; Missouri;
    Montana; Nebraska; Nevada; New Hampshire; New Jersey; New Mexico; New York; New York City;
    North Carolina; North Dakota; Ohio; Oklahoma; Oregon; Pennsylvania; Rhode Island; South Carolina;
    South Dakota; Tennessee; Texas; Utah; Vermont; Virginia; Washington; Wisconsin; Wyoming; Ontario;
    Quebec; London; Paris; Berlin; Rome; Moscow; Tokyo; Beijing; Chicago; Boston; Los Angeles;
    San Francisco; Philadelphia; Houston; Toronto; Sydney; Melbourne; Dublin; Madrid; Vienna;
    Trinidad and Tobago; Bosnia and Herzegovina; Antigua and Barbuda; Saint Kitts and Nevis
""")

GIVEN_NAMES = _words("""
    Adam Alan Albert Alex Alexander Alexandra Alfred Alice Amy Andrea Andrew Angela Ann Anna Anne
    Anthony Antonio Arnold Arthur Barbara Barry Ben Benjamin Bernard Bill Billy Bob Bobby Brian
    Bruce Carl Carlos Carol Caroline Catherine Charles Charlie Charlotte Chris Christian Christina
    Christine Christopher Claire Claude Craig Daniel David Dean Deborah Dennis Diana Diane Don
    Donald Dorothy Douglas Earl Ed Eddie Edgar Edith Edmund Edward Edwin Eleanor Elizabeth Ella
    Ellen Emily Emma Eric Ernest Eugene Eva Evelyn Florence Frances Francis Francisco Frank Franklin
    Fred Frederick Gary Geoffrey George Gerald Gilbert Giovanni Glenn Gordon Grace Graham Grant Greg
    Gregory Guy Hank Hannah Hans Harold Harriet Harry Harvey Hassan Heather Heinrich Helen Henri
    Henry Herbert Herman Howard Hugh Hugo Ian Irene Isaac Isabella Ivan Jack Jackie Jacob Jacques
    James Jan Jane Janet Jason Jay Jean Jeff Jeffrey Jennifer Jeremy Jerry Jesse Jessica Jim Jimmy
    Joan Joe Johann John Johnny Jon Jonathan Jose Joseph Josh Joshua José Juan Judith Julia Julian
    Julie Karen Karl Kate Katherine Kathleen Keith Kelly Ken Kenneth Kevin Kim Larry Laura Lawrence
    Lee Leo Leon Leonard Leslie Lewis Linda Lisa Lloyd Louis Louise Lucy Luis Luke Margaret Maria
    Marie Mario Mark Martha Martin Mary Matt Matthew Maurice Max Melissa Michael Michelle Miguel
    Mike Mohammed Muhammad Nancy Nathan Neil Nicholas Nick Nicole Norman Oliver Oscar Otto Pamela
    Patricia Patrick Paul Pedro Peggy Peter Philip Philippe Phil Pierre Rachel Ralph Ray Raymond
    Rebecca Richard Rick Robert Robin Roger Roland Ron Ronald Rose Roy Russell Ruth Ryan Sam Samuel
    Sandra Sara Sarah Scott Sean Sharon Simon Sophia Sophie Stanley Stephen Steve Steven Stuart
    Susan Suzanne Sylvia Ted Teresa Terry Theodore Thomas Tim Timothy Toby Tom Tommy Tony Tracy
    Victor Victoria Vincent Virginia Vladimir Walter Warren Wayne Wilhelm Will William Winston
    Wolfgang
""")

VERBS = _words("""
    is are was were be been has had have became become becomes won wrote written made makes led
    leads held holds took takes gave gives went goes came comes ran runs met meets left leaves began
    begins fought fell rose grew built sold bought brought taught lost found known sang sung sings
    spoke stood sat set spent sent lies lay borders flows serves plays stars contains includes
    covers features represents operates owns belongs produces remains lives dies performs directs
    hosts appears
""")
