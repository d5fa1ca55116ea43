"""The stock of stories: written once, cast and varied by seed. Each runs 60 to 90 seconds.

A line is `WHO|text`: `A`, `B`, `C` say it, `a`, `b`, `c` think it, `N` narrates, `*` is seen. A manner
may stand before the text as `(manner)`; ` / ` parts variants. `{A}` is a name, `{prop}` the thing the
story turns on.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """`names` to choose from; `about` becomes the description a picture is drawn from."""

    names: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class SceneText:
    place: str
    hour: str
    props: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """`words` in a brief choose it; `things` are what `{prop}` can be."""

    words: tuple[str, ...]
    titles: tuple[str, ...]
    logline: str
    roles: tuple[Role, ...]
    things: tuple[str, ...]
    beats: tuple[str, ...]
    scenes: tuple[SceneText, ...]


CHINESE = (
    Story(
        ("总裁", "豪门", "离婚", "契约", "婚", "甜宠", "霸总", "爱情", "都市"),
        ("迟到的签名", "第七份协议", "他签下的不是离婚"),
        "一纸{prop}把{A}推出顾家大门，三年后她回来，只为问一句当年是谁替她签的字。",
        (
            Role(("林晚", "沈知夏", "苏念"), "女，26岁，珠宝设计师，长发，外柔内刚"),
            Role(("顾沉舟", "陆景深", "傅云川"), "男，31岁，集团总裁，西装，冷峻寡言"),
            Role(("周岚", "何曼", "许静仪"), "女，30岁，总裁秘书，西装，心思缜密"),
        ),
        ("离婚协议", "股权合同", "旧信"),
        (
            "雨夜重逢，{A}拿出{prop}。",
            "{B}坚称从未见过它。",
            "{C}露出破绽。",
            "真正的签名人，是{B}最信任的人。",
        ),
        (
            SceneText(
                "酒店宴会厅",
                "夜",
                ("{prop}",),
                (
                    "*|灯光璀璨，{A}穿过人群，径直走到{B}面前。",
                    "N|三年前，她被一纸{prop}赶出了这座城。 / 三年了，没有人再提起过她的名字。",
                    "B|(冷冷地)你还敢回来？ / (冷冷地)谁放你进来的？",
                    "A|我来还你一样东西。 / 我来，是要问你一句话。",
                    "C|(上前一步)保安呢？把这位小姐请出去，别扫了大家的兴。",
                    "A|急什么？有份东西，今晚在场的每一位都该看看。",
                    "*|{A}把{prop}拍在桌上，全场安静。",
                ),
            ),
            SceneText(
                "总裁办公室",
                "夜",
                ("{prop}", "手机"),
                (
                    "*|{B}一页页翻看{prop}，手指停在最后一行。",
                    "B|(怒)这不是我的字。",
                    "A|你到底还要瞒我多久？那上面的名字，难道也是假的？",
                    "B|我找了你三年，你却拿着一个我没签过的名字，恨了我三年？",
                    "B|那天晚上我在手术室，昏迷了整整两天，怎么可能签字？",
                    "a|两天……原来那两天，他在医院。 / 他在医院？那这三年我恨的人，是谁？",
                    "A|(哽咽)那替你把它送到我手里的人，是谁？",
                ),
            ),
            SceneText(
                "公司走廊",
                "夜",
                ("手机",),
                (
                    "*|{C}站在走廊尽头，压低声音打电话。",
                    "C|(低声)她回来了，东西也带回来了，你答应过我不会查到这里。",
                    "*|{A}从转角走出，举起手机，录音还在继续。",
                    "A|{C}，这句话，你再说一遍。 / 真巧，我正想找你。",
                    "C|(惊)你什么时候站在那里的？",
                    "A|从你说第一个字开始。现在，轮到你告诉我，是谁让你这么做的。",
                ),
            ),
            SceneText(
                "天台",
                "黄昏",
                (),
                (
                    "*|风很大，{B}把{prop}撕成两半，纸片飞过栏杆。",
                    "B|三年，我欠你一个答案，也欠你一句对不起。",
                    "B|如果重来一次，那天晚上，我爬也会爬到你面前。",
                    "A|(轻声)答案我自己找到了。对不起，你留着。",
                    "*|手机响起，屏幕上跳出一张{C}与陌生男人的合影。",
                    "A|(愣住)这个人……是我父亲。 / (愣住)他不是三年前就死了吗？",
                    "N|真正的局，才刚刚开始。",
                ),
            ),
        ),
    ),
    Story(
        ("古", "仙", "妖", "志怪", "武侠", "聊斋", "画皮", "宫", "侠", "悬疑"),
        ("夜半画中人", "灯下谁家女", "狐衣"),
        "书生{A}收留了一个深夜独行的女子，道士却说，她的影子比他早到了一百年。",
        (
            Role(("王生", "柳生", "宁远"), "男，书生，古代青衫长袍，清瘦"),
            Role(("婉娘", "素衣", "阿蘅"), "女，古代女子，二八年华，长袍广袖，来历不明"),
            Role(("玄真道士", "青松道士", "无尘道士"), "男，中年道士，古代道袍，留须"),
        ),
        ("古画", "铜灯笼", "桃木剑"),
        ("{A}夜路遇{B}。", "{C}在街上拦住{A}。", "{A}窥见书斋里的秘密。", "{prop}里的人，开口说话。"),
        (
            SceneText(
                "山路",
                "夜",
                ("灯笼",),
                (
                    "*|月色如霜，{A}提着灯笼赶路，前方一个女子独自走着。",
                    "A|姑娘，这么晚了，为何一个人在山里？",
                    "B|(低头)赶路的人，解不了我的愁，公子又何必问呢？",
                    "B|(轻声)家里把我卖了人，我逃出来的，没有地方可去。",
                    "A|寒舍就在前面，若不嫌弃，先避一夜。",
                    "B|公子大恩，只求一件事，不要对任何人提起我。",
                    "*|{B}低头一笑，月光下，她的脚边没有影子。",
                ),
            ),
            SceneText(
                "古镇街市",
                "清晨",
                (),
                (
                    "*|{C}在人群里一把抓住{A}的手腕。",
                    "C|(沉声)你近日遇见了什么人？",
                    "A|没有。道长认错人了。",
                    "C|你浑身都是邪气，还说没有？世上真有死到临头，还不肯醒的人。",
                    "A|光天化日，道长何必吓人？我家中只有一位落难的姑娘。",
                    "C|今夜子时，你自己从窗外看一眼，看过了，再来找我。",
                    "a|那样好看的女子，怎么会是妖怪？ / 他不过是想骗几个酒钱罢了。",
                ),
            ),
            SceneText(
                "书斋",
                "夜",
                ("{prop}", "蜡烛"),
                (
                    "*|书斋的门反锁着，{A}绕到窗下，从格子里望进去。",
                    "N|烛光下，有人正对着一幅{prop}，一笔一笔，描自己的脸。",
                    "a|(惊)那不是她……那是谁？",
                    "*|{B}忽然停笔，慢慢转过头来。",
                    "B|(轻声)夫君，既然看见了，为何不进来？",
                    "A|(颤声)你究竟是谁？这些天陪我读书的，又是谁？",
                ),
            ),
            SceneText(
                "道观庭院",
                "夜",
                ("{prop}",),
                (
                    "*|{C}将{prop}投进火里，火焰里传来女子的哭声。",
                    "B|(悲)我等了你一百年，你就这样待我？",
                    "B|你忘了吗？这身皮，是你当年一笔一笔替我画上去的。",
                    "A|一百年前……我见过你？",
                    "C|(怒)别听她的！她要的不是你的命，是你的名字！",
                    "*|火光熄灭，灰烬里露出一张脸，和{A}一模一样。",
                    "N|原来被画进去的人，一直是他。",
                ),
            ),
        ),
    ),
    Story(
        ("家", "亲情", "母", "父", "孩子", "医", "职场", "校园", "励志", "温情", "老"),
        ("妈妈的第三个电话", "没有寄出的药", "那盏没关的灯"),
        "{A}以为母亲不肯来城里是因为固执，直到那张{prop}出现在急诊室。",
        (
            Role(("陈屿", "周明", "李想"), "男，27岁，程序员，连帽衫，总在加班"),
            Role(("陈母", "周妈妈", "李妈妈"), "女，老人，白发，节俭，爱笑"),
            Role(("许医生", "方医生", "秦医生"), "女，35岁，急诊科医生，白大褂，眼镜"),
        ),
        ("病历", "存折照片", "药瓶"),
        ("{A}又一次挂断母亲的电话。", "急诊室打来第三个电话。", "{C}递给他{prop}。", "{A}终于听见那条语音。"),
        (
            SceneText(
                "公司办公区",
                "夜",
                ("手机",),
                (
                    "*|凌晨的办公室只亮着一盏灯，{A}的手机第三次震动。",
                    "A|(不耐烦)妈，我在开会，晚点给你打。",
                    "B|好，好，你忙。记得吃饭，妈没事。",
                    "N|那天晚上，他没有打回去。 / 这句没事，她说了二十年。",
                    "B|(犹豫)儿子，妈就想问问，这个周末，你回来吗？",
                    "A|下个月吧，等项目上线，我一定回去，行了吧？",
                    "*|电话再次响起，是一个陌生号码。",
                ),
            ),
            SceneText(
                "医院走廊",
                "夜",
                ("{prop}",),
                (
                    "*|{A}跑过长长的走廊，撞进急诊室的灯光里。",
                    "A|(急)医生，我妈怎么样了？她上午还说没事！",
                    "C|她半年前就该手术了，是她自己签字，说等儿子忙完这阵再说。",
                    "A|(愣住)她从来没有跟我提过，一个字都没有。",
                    "C|她每次来复查，都说儿子在大城市很有出息，不能打扰你。",
                    "*|{C}把{prop}放进他手里。",
                    "a|半年……我说过多少次，等我忙完这阵。",
                ),
            ),
            SceneText(
                "老家客厅",
                "黄昏",
                ("照片", "{prop}"),
                (
                    "*|{A}推开老屋的门，桌上摆着两副碗筷，灯还亮着。",
                    "N|她每天都摆两副碗筷，怕他突然回来。",
                    "A|(哽咽)这盏灯，你从来不关？",
                    "N|邻居说，老人怕他夜里回来看不见路，电费涨了也舍不得关。",
                    "*|他按下录音机，传来母亲的声音。",
                    "B|(笑)儿子，妈学会发语音了，就是不知道，你什么时候有空听。",
                ),
            ),
            SceneText(
                "医院病房",
                "清晨",
                (),
                (
                    "*|阳光照进病房，{B}慢慢睁开眼睛。",
                    "B|(轻声)你怎么来了？不上班了？",
                    "A|(流泪)妈，我回来了，这次我哪儿都不去。",
                    "B|(笑)傻孩子，妈又没怪你，饭在锅里，热一热就能吃。",
                    "C|手术很顺利，不过，有一件事你们得知道。",
                    "*|{C}翻开{prop}，指着家属那一栏的名字。",
                    "C|这上面写着，你还有一个哥哥。 / 二十年前，签字的人不是你父亲。",
                ),
            ),
        ),
    ),
)

ENGLISH = (
    Story(
        ("ceo", "divorce", "contract", "romance", "love", "billionaire", "marriage", "wedding", "revenge"),
        ("The Seventh Signature", "What He Never Signed", "Paper Wife"),
        "A {prop} cost {A} her marriage; three years later she returns to learn whose hand signed it.",
        (
            Role(
                ("Emma", "Claire", "Nora"), "a woman of 26, jewellery designer, long hair, calm and stubborn"
            ),
            Role(("Adrian", "Julian", "Marcus"), "a man of 31, CEO in a dark suit, cold and precise"),
            Role(("Vivian", "Margot", "Celeste"), "a woman of 30, executive secretary in a suit, careful"),
        ),
        ("divorce contract", "sealed letter", "share contract"),
        (
            "{A} walks in with the {prop}.",
            "{B} swears he has never seen it.",
            "{C} makes one call too many.",
            "The man behind it is supposed to be dead.",
        ),
        (
            SceneText(
                "Hotel ballroom",
                "night",
                ("{prop}",),
                (
                    "*|Under the chandeliers {A} crosses the floor and stops in front of {B}.",
                    "N|Three years ago, one piece of paper threw her out of this city.",
                    "B|(coldly)Who let you in here? / (coldly)You have some nerve coming back.",
                    "A|I only came to return something that belongs to you.",
                    "*|She lays the {prop} on the table. The room goes quiet.",
                ),
            ),
            SceneText(
                "CEO office",
                "night",
                ("{prop}", "phone"),
                (
                    "*|{B} turns the pages of the {prop} and stops at the last line.",
                    "B|(angry)That is not my handwriting.",
                    "A|Then tell me whose name that is, because it ended my life.",
                    "B|I was in surgery that night. I was unconscious for two whole days.",
                    "a|Two days. So he never left me. Then who did I spend three years hating?",
                    "A|(in tears)Somebody put this paper in my hand, and it was not you.",
                ),
            ),
            SceneText(
                "Office corridor",
                "night",
                ("phone",),
                (
                    "*|{C} whispers into her phone at the end of the corridor.",
                    "C|(low)She is back, and she kept the paper. You promised it would never lead to me.",
                    "*|{A} steps around the corner. Her phone is still recording.",
                    "A|Say that once more, please. A little louder.",
                    "C|(shocked)How long have you been standing there?",
                ),
            ),
            SceneText(
                "Rooftop",
                "dusk",
                (),
                (
                    "*|In the wind {B} tears the {prop} in two. The pieces fly over the railing.",
                    "B|I owe you an answer, and I owe you an apology.",
                    "A|(softly)I found the answer by myself. Keep the apology.",
                    "*|Her phone lights up: {C}, arm in arm with an older man.",
                    "A|(stunned)That man is my father. We buried him three years ago.",
                    "N|And the real game had only just begun.",
                ),
            ),
        ),
    ),
    Story(
        (
            "mystery",
            "ghost",
            "fantasy",
            "ancient",
            "horror",
            "thriller",
            "detective",
            "crime",
            "police",
            "suspense",
        ),
        ("The Portrait Knows", "One Shadow Short", "Room Without a Key"),
        "Detective {A} has one witness left, and according to the {prop} she died a year ago.",
        (
            Role(("Daniel", "Owen", "Hayes"), "a man of 38, detective, police officer, tired eyes"),
            Role(("Lily", "Ivy", "Alice"), "a woman of 24, student in a hoodie, long hair, frightened"),
            Role(
                ("Doctor Reed", "Doctor Moss", "Doctor Vance"), "a man of 50, hospital doctor, beard, glasses"
            ),
        ),
        ("photograph", "rusty key", "letter"),
        (
            "{B} walks out of the rain with a {prop}.",
            "{C} says she cannot exist.",
            "{A} goes back to the house.",
            "The {prop} shows who is missing.",
        ),
        (
            SceneText(
                "Street outside the station",
                "rainy night",
                ("{prop}",),
                (
                    "*|Rain. {B} stands under the lamp, holding a {prop}.",
                    "A|You should not be out here alone. Are you hurt?",
                    "B|(whispering)I saw who did it. I saw all of it, and nobody believes me.",
                    "A|I am listening. Start with your name.",
                    "N|It was the one name he had written on the wall a year before.",
                ),
            ),
            SceneText(
                "Hospital corridor",
                "night",
                ("{prop}",),
                (
                    "*|{C} reads the file under the cold lights and closes it slowly.",
                    "C|Where did you say she is sitting right now?",
                    "A|In my office, with a cup of tea. Why?",
                    "C|Because I signed her death certificate myself, twelve months ago.",
                    "a|Then who is drinking my tea? / Then who did I just give my coat to?",
                ),
            ),
            SceneText(
                "Old study",
                "night",
                ("candle", "{prop}"),
                (
                    "*|{A} lifts the candle. The wall is covered with pictures of himself.",
                    "a|Somebody has been watching me for a very long time.",
                    "*|The door closes behind him. {B} stands there, dry as paper.",
                    "B|(softly)You came back. You always come back on this night.",
                    "A|(shocked)What do you mean, always?",
                ),
            ),
            SceneText(
                "Rooftop",
                "dawn",
                ("{prop}",),
                (
                    "*|First light. {B} hands him the {prop} at the railing.",
                    "B|Look at it again, and this time count the people.",
                    "A|There are three of us. You, the doctor, and somebody without a face.",
                    "B|(sad)That is the one who died that night. It was never me.",
                    "*|In the {prop} the empty face slowly becomes his own.",
                    "N|Some witnesses wait a year. Some victims never notice.",
                ),
            ),
        ),
    ),
    Story(
        ("family", "mother", "father", "child", "doctor", "office", "school", "hope", "home", "drama"),
        ("The Third Call", "The Light She Left On", "Two Plates"),
        "{A} thought his mother was only stubborn, until the {prop} turned up in the emergency room.",
        (
            Role(("Ethan", "Leo", "Ryan"), "a man of 27, programmer in a hoodie, always working late"),
            Role(("Rose", "Martha", "Helen"), "an old woman, white hair, warm, thrifty"),
            Role(("Doctor Lane", "Doctor Cole", "Doctor Hart"), "a woman of 35, emergency doctor, glasses"),
        ),
        ("medical report", "savings letter", "medicine bottle"),
        (
            "{A} hangs up on his mother again.",
            "The hospital makes the third call.",
            "{C} hands him the {prop}.",
            "There is one more name on it.",
        ),
        (
            SceneText(
                "Office",
                "night",
                ("phone",),
                (
                    "*|One lamp in an empty office. {A}'s phone buzzes for the third time.",
                    "A|(impatient)Mom, I am in a meeting. I will call you later, I promise.",
                    "B|Of course, dear. Eat something warm. I am fine, really.",
                    "N|She had been fine for twenty years. That night he did not call back.",
                    "*|The phone rings again. A number he does not know.",
                ),
            ),
            SceneText(
                "Hospital corridor",
                "night",
                ("{prop}",),
                (
                    "*|{A} runs down the long corridor into the light of the emergency room.",
                    "A|(urgent)Doctor, where is she? She told me this morning she was fine!",
                    "C|She needed surgery half a year ago. She wanted to wait until you had time.",
                    "*|{C} puts the {prop} into his hands.",
                    "a|Half a year. How often did I say, when this project is over?",
                ),
            ),
            SceneText(
                "Old living room at home",
                "dusk",
                ("photo", "{prop}"),
                (
                    "*|{A} opens the door. Two plates on the table, and the lamp still burning.",
                    "N|She set two plates every evening, in case he came by.",
                    "A|(in tears)You never turned it off. Not once.",
                    "*|He presses play on the old recorder.",
                    "B|(smiling)I learned to send voice messages. I never knew when you had time to listen.",
                ),
            ),
            SceneText(
                "Hospital ward",
                "morning",
                (),
                (
                    "*|Sun falls into the ward. {B} opens her eyes.",
                    "B|(softly)What are you doing here? Is there no work today?",
                    "A|I am home, Mom. I am not going anywhere this time.",
                    "C|The surgery went well. But there is something you both should know.",
                    "*|{C} opens the {prop} and points at the line for next of kin.",
                    "C|It says here that you have a brother. / The man who signed it was not your father.",
                ),
            ),
        ),
    ),
)
