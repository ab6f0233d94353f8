"""Names of the namespaces of files and categories in the languages of Wikipedia.

An export names each namespace once, in the wiki's own words, and leaves out the aliases that pages still use
(`[[Bild:…]]` on de); some published slices even carry the namespaces of another wiki. Both are mended from
here. Source: the messages of MediaWiki and the settings of the Wikimedia wikis.
"""

from __future__ import annotations

LOCAL_NAMES = """
ab: Медиа Файл Афаил Амедиа Изображение | Категория Акатегориа
ace: Beureukaih Gambar Alat Berkas | Kawan Kategori
ady: Медиа Файл | Категорие Категория
af: Lêer Beeld | Kategorie
ak: | Nkyekyem
als: Medium Datei Bild | Kategorie
alt: Файл | Категория
am: ፋይል ስዕል | መደብ
an: Imachen Imagen | Categoría
ang: Ymele Biliþ | Flocc
ar: ميديا صورة وسائط ملف | تصنيف
arc: ܠܦܦܐ ܡܝܕܝܐ | ܣܕܪܐ
ary: ملف صورة | تصنيف
arz: ميديا صورة وسائط ملف | تصنيف
as: চিত্ৰ चित्र চিত্র মাধ্যম | CAT শ্ৰেণী श्रेणी শ্রেণী
ast: Imaxen Ficheru Imaxe Archivu Imagen Medios | Categoría
atj: Tipatcimoctakewin Natisinahikaniwoc | Tipanictawin
av: Медиа Файл Изображение | Категория
awa: चित्र फाइल | श्रेणी
ay: Medio Archivo Imagen | Categoría
az: Mediya Şəkil Fayl | Kateqoriya
azb: رسانه تصویر مدیا فایل رسانه‌ای | بؤلمه
ba: Медиа Рәсем Файл Изображение | Төркөм Категория
ban: Berkas Gambar | Kategori
bar: Medium Datei Bild | Kategorie
bat-smg: Vaizdas Medėjė Abruozdielis | Kategorija Kateguorėjė
bcl: Medio Ladawan | Kategorya
be: Мультымедыя Файл Выява | Катэгорыя Катэгория
be-x-old: Мэдыя Файл Выява | Катэгорыя
bew: Gambar Berkas | Kategori
bg: Медия Файл Картинка | Категория
bh: मीडिया चित्र | श्रेणी
bjn: Barakas Gambar Berkas | Tumbung Kategori
bm: Média Fichier | Catégorie
bn: চিত্র মিডিয়া | বিষয়শ্রেণী വിഭാഗം
bpy: ছবি মিডিয়া | থাক
br: Skeudenn Restr | Rummad
bs: Mediji Slika Datoteka Medija | Kategorija
bug: Gambar Berkas | Kategori
bxr: Файл Меди Изображение | Категори Категория
ca: Fitxer Imatge | Categoria
cbk-zam: Medio Archivo Imagen | Categoría
cdo: 文件 媒體 圖像 檔案 | 分類
ce: Хlум Медиа Сурт Файл Медйа Изображение | Категори Тоба Кадегар
ceb: Payl Medya Imahen | Kategoriya
ch: Litratu | Katigoria
ckb: میدیا پەڕگە | پ پۆل
co: Immagine | Categoria
crh: Медиа Resim Файл Fayl Ресим | Категория Kategoriya
cs: Soubor Média Obrázok Obrázek | Kategorie
csb: Òbrôzk Grafika | Kategòrëjô
cu: Видъ Ви́дъ Дѣло Срѣдьства | Катигорї Категория Катигорїꙗ
cv: Медиа Ӳкерчĕк Изображение | Категори
cy: Delwedd | Categori
da: Billede Fil | Kategori
de: Medium Datei Bild | Kategorie
din: Ciɛl Apamduööt | Bekätakthook
diq: Medya Dosya | Kategoriye Kategori
dsb: Wobraz Dataja Bild Medija | Kategorija
dty: चित्र मिडिया | श्रेणी
dv: ފައިލު މީޑިއާ ފައިލް | ޤިސްމު
el: Εικόνα Αρχείο Μέσο Μέσον | Κατηγορία
eml: Immagine | Categoria
eo: Dosiero Aŭdvidaĵo | Kategorio
es: Medio Archivo Imagen | CAT Categoría
et: Pilt Fail Meedia | Kategooria
eu: Irudi Fitxategi | Kategoria
ext: Archivu Imagen Mediu | Categoría Categoria
fa: رسانه تصویر مدیا پرونده رسانه‌ای | رده
ff: Média Fichier | Catégorie
fi: Kuva Tiedosto | Luokka
fiu-vro: Pilt Meediä | Katõgooria
fo: Miðil Mynd | Bólkur
fr: Média Fichier | Catégorie
frp: Émâge Fichiér Mèdia | Catègorie
frr: Medium Datei Bild | Kategorie
fur: Immagine Figure | Categorie
fy: Ofbyld | Kategory
ga: Íomhá Meán | Rang Catagóir
gag: Mediya Medya Resim Dosya Dosye | Kategori Kategoriya
gan: 媒体文件 文件 文檔 档案 媒體 图像 圖像 媒体 檔案 | 分類 分类
gd: Faidhle Meadhan | Roinn-seòrsa
gl: Imaxe Ficheiro Arquivo Imagem | Categoría
glk: رسانه تصویر پرونده فاىل رسانه‌ای مديا | جرگه رده
gn: Medio Imagen Ta'ãnga | Ñemohenda
gom: माध्यम मिडिया फायल | वर्ग श्रेणी
gor: Gambar Berkas | Dalala
got: 𐍆𐌴𐌹𐌻𐌰 | 𐌷𐌰𐌽𐍃𐌰
gu: દ્રશ્ય-શ્રાવ્ય_(મિડિયા) ચિત્ર | શ્રેણી CAT શ્રે
gv: Coadan Meanyn | Ronney
hak: 文件 媒體 圖像 檔案 | 分類
haw: Kiʻi Waihona Pāpaho | Māhele
he: תמונה קו מדיה קובץ | קטגוריה קט
hi: मीडिया चित्र | श्र श्रेणी
hif: saadhan | vibhag
hr: F Mediji DT Slika Datoteka | CT KT Kategorija
hsb: Wobraz Dataja Bild | Kategorija
ht: Imaj Fichye Medya | Kategori
hu: Kép Fájl Média | Kategória
hy: Պատկեր Մեդիա Նկար | Կատեգորիա
hyw: Պատկեր | Ստորոգութիւն
ia: Imagine Multimedia | Categoria
id: Gambar Berkas | Kategori
ie: | Categorie
ig: Nká Midia Usòrò Ákwúkwó_orünotu | Ébéonọr Òtù
ii: 媒体文件 文件 档案 图像 媒体 | 分类
ilo: Midia Papeles | Kategoria
inh: Медиа Файл Изображение | ОагӀат
io: Imajo Arkivo | Kategorio
is: Miðill Mynd | Flokkur
it: Immagine | CAT Categoria
ja: メディア ファイル 画像 | カテゴリ
jbo: velsku datnyvei | klesi
jv: Barkas Medhia Gambar Médhia | Kategori
ka: მედია სურათი ფაილი | კატეგორია
kaa: Swret Таспа سۋرەت Taspa Su'wret Сурет تاسپا | Sanat Kategoriya Санат سانات
kab: Tugna | Taggayt
kbd: Медиа Файл | Категория Категориэ
kbp: Média Fichier | Catégorie
kg: Fisye | Kalasi
kk: Swret سۋرەت Таспа Taspa Сурет تاسپا | Sanat Санат سانات
kl: Billede Fiileq Fil | Sumut_atassuseq Kategori
km: ឯកសារ រូបភាព មេឌា មីឌា | ចំនាត់ថ្នាក់ក្រុម ចំណាត់ក្រុម ចំណាត់ថ្នាក់ក្រុម
kn: ಚಿತ್ರ ಮೀಡಿಯ | ವರ್ಗ
ko: 미디어 파일 그림 | 분류 갈래
koi: Медиа Файл Изображение | Категория
krc: Медиа Файл Изображение | Категория
ks: میڈیا فَیِل | زٲژ
ksh: Beld Meedije Medie Belld |
ksh: Medium Datei Meedijum Bild | Saachjropp Saachjrop Katejori Kategorie Saachjrupp Kattejori Sachjrop
ku: میدیا پەڕگە Medya Wêne | Kategorî پۆل
kv: Медиа Файл Изображение | Категория
kw: Restren | Class Klass
ky: Медиа Файл | Категория
la: Imago Fasciculus | Categoria
lad: Dossia Medya Archivo Dosya Imagen Meddia | Kateggoría Katēggoría Categoría
lb: Fichier Bild | Kategorie
lbe: Медиа Сурат Изображение | Категория
lez: Медиа Mediya Файл Şəkil Изображение | Категория
lfn: Fix | Categoria
li: Afbeelding Plaetje Aafbeilding | Categorie Kategorie
lij: Immaggine Immagine | Categorîa Categoria
lmo: Immagine Imàjine Archivi | Categuria Categoria
ln: Média Fichier | Catégorie
lo: ສື່ອ ສື່ ຮູບ | ໝວດ
lrc: رسانه تصویر رسانه‌ای جانیا أسگ ڤارئسگأر | دأسە
lt: Vaizdas Medija | Kategorija
ltg: Medeja Fails | Kategoreja
lv: Attēls | Kategorija
mad: Berkas | Kategori
mai: मेडिया फाइल | CA श्रेणी
map-bms: Barkas Medhia Gambar Médhia | Kategori
mdf: Медиа Няйф Изображение | Категорие Категория
mg: Rakitra Sary Média | Sokajy Catégorie
mhr: Медиа Файл Изображение | Категория Категорий
min: Gambar Berkas | Kategori
mk: Податотека Медија Медиум Слика | Категорија
ml: പ്രമാണം ചി മീഡിയ പ്ര ചിത്രം | വിഭാഗം വി വർഗ്ഗം വ
mn: Медиа Файл Зураг | Ангилал
mr: चित्र मिडिया | वर्ग
mrj: Медиа Файл Изображение | Категори Категория
ms: Fail Imej | Kategori
mt: Midja Medja Stampa | Kategorija
mwl: Multimédia Fexeiro Ficheiro Arquivo Imagem | Catadorie Categoria
my: ဖိုင် မီဒီယာ | ကဏ္ဍ
myv: Медия Артовкс Изображение | Категория
mzn: رسانه تصویر مه‌دیا مدیا پرونده رسانه‌ای | رج رده
nah: Mēdiatl Īxiptli Imagen | Neneuhcāyōtl Categoría
nap: Fiùra Immagine | Categurìa Categoria
nds: Datei Bild | Kategorie
nds-nl: Ofbeelding Afbeelding Bestaand | Categorie Kattegerie Kategorie
ne: मीडिया चित्र | श्रेणी
new: किपा माध्यम | पुचः
nl: Bestand Afbeelding | Categorie
nn: Fil Bilde Filpeikar | Kategori
no: Fil Medium Bilde | Kategori
nrm: Média Fichier | Catégorie
nso: Seswantšho | Setensele
nv: Eʼelyaaígíí | Tʼááłáhági_átʼéego
oc: Imatge Fichièr Mèdia | Categoria
olo: Kuva Medii Failu | Kategourii
or: ମାଧ୍ୟମ ଫାଇଲ | ବିଭାଗ ଶ୍ରେଣୀ
os: Ныв Медиа Файл Изображение | Категори
pa: ਤਸਵੀਰ ਮੀਡੀਆ | ਸ਼੍ਰੇਣੀ
pcd: Média Fichier | Catégorie
pdc: Medium Datei Bild Feil | Abdeeling Kategorie
pfl: Dadai Medium Datei Bild | Kadegorie Sachgrubb Kategorie
pi: मीडिया पटिमा | विभाग
pl: Plik Grafika | Kategoria
pms: Figura Immagine | Categorìa
pnb: میڈیا تصویر فائل | گٹھ
pnt: Εικόνα Αρχείον Εικόναν Μέσον | Κατηγορίαν
ps: انځور رسنۍ دوتنه | وېشنيزه
pt: Multimédia Ficheiro Arquivo Imagem | Categoria
qu: Midya Imagen Rikcha | Katiguriya
rm: Multimedia Datoteca | Categoria
rmy: Fişier Mediya Chitro Imagine | Shopni
ro: Fişier Imagine Fișier | Categorie
roa-rup: Fişier Imagine Fișier | Categorie
roa-tara: Immagine | Categoria
ru: Медиа Файл Изображение | Категория К
rue: Медіа Медиа Файл Изображение Зображення | Категория Катеґорія
rw: Dosiye Itangazamakuru | Ikiciro
sa: चित्रम् माध्यमम् सञ्चिका माध्यम चित्रं | वर्गः
sah: Миэдьийэ Ойуу Билэ Изображение | Категория
sat: ᱨᱮᱫ ᱢᱤᱰᱤᱭᱟ | ᱛᱷᱚᱠ
sc: Immàgini | Categoria
scn: Immagine Mmàggini Mèdia | Catigurìa
sd: عڪس ذريعات فائل | زمرو
se: Fiila | Kategoriija
sg: Média Fichier | Catégorie
sh: Mediji Slika Медија Datoteka Medija Слика | Kategorija Категорија
si: රූපය මාධ්‍යය ගොනුව | ප්‍රවර්ගය
sk: Súbor Obrázok Médiá | Kategória
skr: فائل | ونکی زمرہ
sl: Slika Datoteka | Kategorija
sq: Figura Skeda | Kategoria Kategori
sr: Датотека Medij Slika Медија Datoteka Медиј Medija Слика | Kategorija Категорија
srn: Afbeelding Gefre | Categorie Guru
stq: Bielde Bild | Kategorie
su: Média Gambar | Kategori
sv: Fil Bild | Kategori
sw: Faili Picha | Jamii
szl: Plik Grafika | Kategoryjo Kategoria
ta: படிமம் ஊடகம் | பகுப்பு
tcy: ಮಾದ್ಯಮೊ ಫೈಲ್ | ವರ್ಗೊ
te: ఫైలు దస్త్రం బొమ్మ మీడియా | వర్గం
tet: Imajen Arquivo Imagem | Kategoría Kategoria
tg: Акс Медиа | Гурӯҳ
th: ไฟล์ สื่อ ภาพ | หมวดหมู่
ti: ፋይል ሜድያ | መደብ
tk: Faýl | Kategoriýa
tl: Midya Talaksan | Kategorya Kaurian
tpi: Fail | Grup
tr: Medya Resim Dosya Ortam | Kategori KAT
tt: Медиа Рәсем Файл Räsem Изображение | Төркем Törkem Категория
ty: Média Fichier | Catégorie
tyv: Медиа Файл Изображение | Аңгылал Категория
udm: Медиа Файл Суред Изображение | Категория
ug: ۋاسىتە ھۆججەت | تۈر
uk: Медіа Медиа Файл Изображение Зображення Світлина | Категория Категорія
ur: میڈیا تصویر وسیط زریعہ فائل ملف | زمرہ
uz: Mediya Tasvir Fayl | Turkum Kategoriya
vec: Immagine Imàjine Mèdia | Categoria
vep: Pilt Fail | Kategorii
vi: Phương_tiện Tập_tin Hình | Thể_loại
vls: Afbeelding Ofbeeldienge | Categorie
vo: Ragiv Magod Nünamakanäd | Klad
wa: Imådje | Categoreye
war: Medya Fayl Paypay | Kaarangay
wo: Xibaarukaay Dencukaay | Wàll Catégorie
wuu: 文件 档案 图像 媒体 | 分类
xal: Аһар Боомг Изображение Зург | Янз Әәшл
xmf: მედია სურათი ფაილი | კატეგორია
yi: מעדיע תמונה טעקע בילד | קאטעגאריע קאַטעגאָריע
yo: Fáìlì Amóhùnmáwòrán Àwòrán | Ẹ̀ka
za: 媒体文件 文件 档案 图像 媒体 | 分类
zea: Afbeelding Plaetje | Categorie
zh: F 媒体文件 文件 媒體 档案 图像 圖像 媒体 檔案 | 分类 分類 CAT
zh-classical: 文件 媒體 圖像 檔案 | 分類 CAT
zh-min-nan: tóng-àn 文件 媒體 Mûi-thé 圖像 檔案 | 分類 Lūi-pia̍t
zh-yue: 檔 档 文件 图 媒體 圖 档案 图像 圖像 媒体 檔案 | 分类 分類 类 類
"""
"""A line a language: its code, names of File (and Media), `|`, names of Category; `_` stands for a space."""
