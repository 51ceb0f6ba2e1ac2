#pragma once

#include <stddef.h>

/// One file of the page, as it lies in the program's read-only data.
struct BundledAsset {
    /// The name it has in an address, below the folder of the assets: `app.js`, `languages/de.txt`.
    const char *name;
    const char *media_type;
    const unsigned char *bytes;
    size_t length;
};

/// The files of the page, ordered as in `assets.c`; `count` gets their number.
const struct BundledAsset *bundled_assets(size_t *count);
