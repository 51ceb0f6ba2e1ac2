// The page's files, embedded by the compiler from Resources/.
//
// `app.js` is one module written in several parts, which are embedded one after the other, so that the page needs only
// one script for its first paint. Every other file stands alone. A new file needs its array and its row here.

#include "CBundledAssets.h"

static const unsigned char index_html[] = {
#embed "../../Resources/index.html"
};

static const unsigned char app_css[] = {
#embed "../../Resources/app.css"
};

static const unsigned char app_js[] = {
#embed "../../Resources/app/words.js"
,
#embed "../../Resources/app/dom.js"
,
#embed "../../Resources/app/api.js"
,
#embed "../../Resources/app/listing.js"
,
#embed "../../Resources/app/view.js"
,
#embed "../../Resources/app/menu.js"
,
#embed "../../Resources/app/actions.js"
,
#embed "../../Resources/app/keys.js"
,
#embed "../../Resources/app/drop.js"
,
#embed "../../Resources/app/live.js"
,
#embed "../../Resources/app/main.js"
};

static const unsigned char transfer_js[] = {
#embed "../../Resources/transfer.js"
};

static const unsigned char tus_js[] = {
#embed "../../Resources/tus.js"
};

static const unsigned char hash_js[] = {
#embed "../../Resources/hash.js"
};

static const unsigned char preview_js[] = {
#embed "../../Resources/preview.js"
};

static const unsigned char text_js[] = {
#embed "../../Resources/text.js"
};

static const unsigned char dialogs_js[] = {
#embed "../../Resources/dialogs.js"
};

static const unsigned char de_words[] = {
#embed "../../Resources/languages/de.txt"
};

static const unsigned char zh_words[] = {
#embed "../../Resources/languages/zh.txt"
};

#define JAVASCRIPT "text/javascript; charset=utf-8"
#define TEXT "text/plain; charset=utf-8"
#define ASSET(name, type, array) {name, type, array, sizeof array}

static const struct BundledAsset assets[] = {
    ASSET("index.html", "text/html; charset=utf-8", index_html),
    ASSET("app.css", "text/css; charset=utf-8", app_css),
    ASSET("app.js", JAVASCRIPT, app_js),
    ASSET("transfer.js", JAVASCRIPT, transfer_js),
    ASSET("tus.js", JAVASCRIPT, tus_js),
    ASSET("hash.js", JAVASCRIPT, hash_js),
    ASSET("preview.js", JAVASCRIPT, preview_js),
    ASSET("text.js", JAVASCRIPT, text_js),
    ASSET("dialogs.js", JAVASCRIPT, dialogs_js),
    ASSET("languages/de.txt", TEXT, de_words),
    ASSET("languages/zh.txt", TEXT, zh_words),
};

const struct BundledAsset *bundled_assets(size_t *count) {
    *count = sizeof assets / sizeof assets[0];
    return assets;
}
