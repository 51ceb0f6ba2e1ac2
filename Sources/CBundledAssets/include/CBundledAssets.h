#pragma once

#include <stddef.h>

/// One file of the page, in the program's read-only data.
struct BundledAsset {
    /// Its name in an address, below the folder of the assets: `app.js`, `languages/de.txt`.
    const char *name;
    const char *media_type;
    const unsigned char *bytes;
    size_t length;
};

/// The files of the page, in the order of `assets.c`; sets `count` to their number.
const struct BundledAsset *bundled_assets(size_t *count);
