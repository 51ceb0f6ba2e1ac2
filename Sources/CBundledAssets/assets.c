// The page's files, embedded by the compiler from Resources/.
//
// `app.js` is one module written in several parts: they are embedded one after the other, so that the page's first
// paint asks for one script only. Every other file stands for itself. A new file needs its array and its row here.

#include "CBundledAssets.h"

static const unsigned char index_html[] = {
#embed "../../Resources/index.html"
};

static const unsigned char app_css[] = {
#embed "../../Resources/app.css"
};

static const unsigned char app_js[] = {
#embed "../../Resources/app/main.js"
};

static const unsigned char en_json[] = {
#embed "../../Resources/languages/en.json"
};

#define JAVASCRIPT "text/javascript; charset=utf-8"
#define JSON "application/json"
#define ASSET(name, type, array) {name, type, array, sizeof array}

static const struct BundledAsset assets[] = {
    ASSET("index.html", "text/html; charset=utf-8", index_html),
    ASSET("app.css", "text/css; charset=utf-8", app_css),
    ASSET("app.js", JAVASCRIPT, app_js),
    ASSET("languages/en.json", JSON, en_json),
};

const struct BundledAsset *bundled_assets(size_t *count) {
    *count = sizeof assets / sizeof assets[0];
    return assets;
}
