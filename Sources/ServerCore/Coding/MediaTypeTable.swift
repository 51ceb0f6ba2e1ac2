/// Media types and their extensions, from IANA's registry, the browsers' own lists and Debian's.
///
/// One literal instead of an array of pairs: it takes only its own bytes, and no time to compile.
let mediaTypeTable = """
    application/atom+xml atom
    application/dart dart-snapshot
    application/dicom dcm
    application/epub+zip epub
    application/fhir+json fhir
    application/geo+json geojson
    application/gpx+xml gpx
    application/gzip gz tgz svgz
    application/java-archive jar war ear
    application/java-vm class
    application/json json map har ipynb jsonc topojson
    application/ld+json jsonld
    application/manifest+json webmanifest
    application/mathematica nb
    application/mbox mbox
    application/msword doc dot
    application/mxf mxf
    application/n-triples nt
    application/octet-stream bin dump dmg img deploy so o a part lha lzh pkg
    application/ogg ogx
    application/onenote onetoc onetoc2 onetmp onepkg one
    application/oxps oxps
    application/pdf pdf
    application/pgp-encrypted pgp gpg
    application/pgp-keys asc key
    application/pgp-signature sig
    application/pkcs10 p10
    application/pkcs7-mime p7m p7c
    application/pkcs7-signature p7s
    application/pkcs8 p8
    application/pkix-cert cer
    application/pkix-crl crl
    application/pem-certificate-chain pem
    application/postscript ps eps
    application/ai ai
    application/rdf+xml rdf owl
    application/rss+xml rss
    application/rtf rtf
    application/schema+json jsonschema
    application/smil+xml smil smi
    application/sql sql
    application/toml toml
    application/trig trig
    application/vnd.adobe.flash.movie swf
    application/vnd.amazon.ebook azw azw3
    application/vnd.android.package-archive apk
    application/vnd.apple.installer+xml mpkg
    application/vnd.apple.keynote keynote
    application/vnd.apple.mpegurl m3u8
    application/vnd.apple.numbers numbers
    application/vnd.apple.pages pages
    application/vnd.apple.pkpass pkpass
    application/vnd.comicbook+zip cbz
    application/vnd.comicbook-rar cbr
    application/vnd.debian.binary-package deb udeb ddeb
    application/vnd.flatpak flatpak
    application/vnd.garmin.fit fit
    application/vnd.google-earth.kml+xml kml
    application/vnd.google-earth.kmz kmz
    application/vnd.mozilla.xul+xml xul
    application/vnd.ms-cab-compressed cab
    application/vnd.ms-excel xls xlt xla xlw
    application/vnd.ms-excel.addin.macroenabled.12 xlam
    application/vnd.ms-excel.sheet.binary.macroenabled.12 xlsb
    application/vnd.ms-excel.sheet.macroenabled.12 xlsm
    application/vnd.ms-excel.template.macroenabled.12 xltm
    application/vnd.ms-fontobject eot
    application/vnd.ms-htmlhelp chm
    application/vnd.ms-outlook msg
    application/vnd.ms-powerpoint ppt pps pot
    application/vnd.ms-powerpoint.presentation.macroenabled.12 pptm
    application/vnd.ms-project mpp
    application/vnd.ms-word.document.macroenabled.12 docm
    application/vnd.ms-word.template.macroenabled.12 dotm
    application/vnd.ms-works wps wks wcm wdb
    application/vnd.ms-xpsdocument xps
    application/vnd.oasis.opendocument.chart odc
    application/vnd.oasis.opendocument.database odb
    application/vnd.oasis.opendocument.formula odf
    application/vnd.oasis.opendocument.graphics odg
    application/vnd.oasis.opendocument.graphics-template otg
    application/vnd.oasis.opendocument.image odi
    application/vnd.oasis.opendocument.presentation odp
    application/vnd.oasis.opendocument.presentation-template otp
    application/vnd.oasis.opendocument.spreadsheet ods
    application/vnd.oasis.opendocument.spreadsheet-template ots
    application/vnd.oasis.opendocument.text odt
    application/vnd.oasis.opendocument.text-master odm
    application/vnd.oasis.opendocument.text-template ott
    application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
    application/vnd.openxmlformats-officedocument.presentationml.slideshow ppsx
    application/vnd.openxmlformats-officedocument.presentationml.template potx
    application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
    application/vnd.openxmlformats-officedocument.spreadsheetml.template xltx
    application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
    application/vnd.openxmlformats-officedocument.wordprocessingml.template dotx
    application/vnd.palm pdb pqa oprc
    application/vnd.rar rar
    application/vnd.rn-realmedia rm
    application/vnd.sqlite3 sqlite sqlite3 db3
    application/vnd.sun.xml.calc sxc
    application/vnd.sun.xml.impress sxi
    application/vnd.sun.xml.writer sxw
    application/vnd.tcpdump.pcap pcap cap dmp
    application/vnd.visio vsd vst vss vsw vsdx
    application/vnd.wordperfect wpd
    application/wasm wasm
    application/wsdl+xml wsdl
    application/x-7z-compressed 7z
    application/x-abiword abw
    application/x-ace-compressed ace
    application/x-apple-diskimage sparseimage
    application/x-arj arj
    application/x-bittorrent torrent
    application/x-blender blend
    application/x-bzip bz
    application/x-bzip2 bz2 tbz tbz2
    application/x-cdlink vcd
    application/x-chrome-extension crx
    application/x-compress z
    application/x-cpio cpio
    application/x-debian-package-source dsc
    application/x-dvi dvi
    application/x-font-bdf bdf
    application/x-font-pcf pcf
    application/x-font-type1 pfa pfb pfm afm
    application/x-freearc arc
    application/x-gtar gtar
    application/x-hdf hdf h5
    application/x-httpd-php php
    application/x-iso9660-image iso
    application/x-java-jnlp-file jnlp
    application/x-keepass2 kdbx
    application/x-kicad kicad
    application/x-lua-bytecode luac
    application/x-lz4 lz4
    application/x-lzip lz
    application/x-lzma lzma
    application/x-mobipocket-ebook mobi prc
    application/x-ms-shortcut lnk
    application/x-msaccess mdb accdb
    application/x-msdownload exe dll com bat msi
    application/x-ndjson ndjson jsonl
    application/x-parquet parquet
    application/x-pkcs12 p12 pfx
    application/x-redhat-package-manager rpm
    application/x-research-info-systems ris
    application/x-sh sh bash zsh fish ksh csh
    application/x-shar shar
    application/x-stuffit sit
    application/x-stuffitx sitx
    application/x-subrip srt
    application/x-tar tar
    application/x-tex-tfm tfm
    application/x-virtualbox-vdi vdi
    application/x-virtualbox-vmdk vmdk
    application/x-virtualbox-ova ova ovf
    application/x-vhd vhd vhdx
    application/x-qemu-disk qcow2
    application/x-x509-ca-cert der crt
    application/x-xfig fig
    application/x-xpinstall xpi
    application/x-xz xz txz
    application/xhtml+xml xhtml xht
    application/xml xml xsl xsd rng dtd plist gml xspf
    application/xslt+xml xslt
    application/yaml yaml yml
    application/zip zip
    application/zstd zst tzst
    audio/aac aac adts
    audio/ac3 ac3
    audio/amr amr
    audio/basic au snd
    audio/flac flac
    audio/matroska mka
    audio/midi mid midi kar rmi
    audio/mp4 m4a mp4a m4b m4r
    audio/mpeg mp3 mpga mp2 mp2a m2a m3a
    audio/ogg oga ogg spx opus
    audio/vnd.dts dts
    audio/vnd.wave wav
    audio/webm weba
    audio/x-aiff aif aiff aifc
    audio/x-ape ape
    audio/x-caf caf
    audio/x-dsf dsf dff
    audio/x-mod mod s3m xm it
    audio/x-mpegurl m3u
    audio/x-ms-wma wma
    audio/x-musepack mpc
    audio/x-pn-realaudio ra ram
    audio/x-scpls pls
    audio/x-wavpack wv
    font/collection ttc
    font/otf otf
    font/ttf ttf
    font/woff woff
    font/woff2 woff2
    image/aces exr
    image/apng apng
    image/avif avif avifs
    image/bmp bmp dib
    image/cgm cgm
    image/emf emf
    image/fits fits fts
    image/gif gif
    image/heic heic
    image/heic-sequence heics
    image/heif heif hif
    image/heif-sequence heifs
    image/ief ief
    image/jls jls
    image/jp2 jp2 jpg2
    image/jpeg jpg jpeg jpe jfif
    image/jpm jpm jpgm
    image/jpx jpx jpf
    image/jxl jxl
    image/ktx ktx
    image/ktx2 ktx2
    image/png png
    image/qoi qoi
    image/svg+xml svg
    image/tiff tif tiff
    image/vnd.adobe.photoshop psd
    image/vnd.djvu djvu djv
    image/vnd.dwg dwg
    image/vnd.dxf dxf
    image/vnd.microsoft.icon ico cur
    image/vnd.ms-dds dds
    image/vnd.radiance hdr
    image/vnd.wap.wbmp wbmp
    image/vnd.zbrush.pcx pcx
    image/webp webp
    image/wmf wmf
    image/x-adobe-dng dng
    image/x-canon-cr2 cr2
    image/x-canon-cr3 cr3
    image/x-canon-crw crw
    image/x-cmu-raster ras
    image/x-epson-erf erf
    image/x-fuji-raf raf
    image/x-icns icns
    image/x-minolta-mrw mrw
    image/x-nikon-nef nef
    image/x-olympus-orf orf
    image/x-panasonic-rw2 rw2
    image/x-pentax-pef pef
    image/x-portable-anymap pnm
    image/x-portable-bitmap pbm
    image/x-portable-graymap pgm
    image/x-portable-pixmap ppm
    image/x-rgb rgb
    image/x-sony-arw arw
    image/x-tga tga
    image/x-xbitmap xbm
    image/x-xcf xcf
    image/x-xpixmap xpm
    image/x-xwindowdump xwd
    message/rfc822 eml mht mhtml
    model/3mf 3mf
    model/gltf+json gltf
    model/gltf-binary glb
    model/iges igs iges
    model/mesh msh mesh silo
    model/obj obj
    model/step+xml stpx
    model/step stp step
    model/stl stl
    model/vnd.collada+xml dae
    model/vnd.usdz+zip usdz usd usda usdc
    model/vrml wrl vrml
    model/x3d+xml x3d
    text/cache-manifest appcache
    text/calendar ics ifb
    text/css css
    text/csv csv
    text/html html htm shtml
    text/javascript js mjs cjs
    text/markdown md markdown mkd
    text/mathml mml
    text/n3 n3
    text/plain txt text log conf cfg ini def list in diff patch nfo env properties lock gitignore gitattributes editorconfig readme license me 1st
    text/prs.lines.tag tag
    text/richtext rtx
    text/sgml sgml sgm
    text/tab-separated-values tsv
    text/troff t tr roff man
    text/turtle ttl
    text/uri-list uri uris urls
    text/vcard vcf vcard
    text/vnd.graphviz gv
    text/vtt vtt
    text/x-adoc adoc asciidoc
    text/x-asm s asm
    text/x-bibtex bib
    text/x-c c h cc cxx cpp hh hpp hxx
    text/x-clojure clj cljs edn
    text/x-cmake cmake
    text/x-coffeescript coffee
    text/x-crystal cr
    text/x-csharp cs
    text/x-d d
    text/x-dart dart
    text/x-diff rej
    text/x-elixir ex exs
    text/x-elm elm
    text/x-emacs-lisp el
    text/x-erlang erl hrl
    text/x-fortran f for f77 f90
    text/x-fsharp fs fsx
    text/x-gcode gcode
    text/x-go go
    text/x-gradle gradle
    text/x-groovy groovy
    text/x-haskell hs lhs
    text/x-java-source java
    text/x-julia jl
    text/x-kotlin kt kts
    text/x-less less
    text/x-lisp lisp lsp
    text/x-lua lua
    text/x-nim nim
    text/x-nix nix
    text/x-objective-c m mm
    text/x-ocaml ml mli
    text/x-opml opml
    text/x-org org
    text/x-pascal p pas pp
    text/x-perl pl pm
    text/x-powershell ps1 psm1 psd1
    text/x-protobuf proto
    text/x-python py pyw pyi
    text/x-r r rmd
    text/x-rst rst
    text/x-ruby rb
    text/x-rust rs
    text/x-sass sass
    text/x-scala scala sc
    text/x-scheme scm ss
    text/x-scss scss
    text/x-setext etx
    text/x-sfv sfv
    text/x-solidity sol
    text/x-ssa ass ssa
    text/x-subviewer sub sbv
    text/x-svelte svelte
    text/x-swift swift
    text/x-systemd service socket timer
    text/x-tcl tcl
    text/x-terraform tf hcl tfvars
    text/x-tex tex ltx sty cls
    text/x-texinfo texinfo texi
    text/x-typescript tsx jsx cts
    text/x-vala vala
    text/x-verilog v sv
    text/x-vhdl vhdl
    text/x-vue vue
    text/x-zig zig
    text/x-md5 md5 sha1 sha256 sha512 sums
    video/3gpp 3gp
    video/3gpp2 3g2
    video/h261 h261
    video/h263 h263
    video/h264 h264
    video/h265 h265 hevc
    video/matroska mkv mk3d
    video/mj2 mj2 mjp2
    video/mp2t ts m2t m2ts mts
    video/mp4 mp4 mp4v mpg4
    video/mpeg mpeg mpg mpe m1v m2v
    video/ogg ogv
    video/quicktime qt mov
    video/vnd.mpegurl mxu m4u
    video/webm webm
    video/x-f4v f4v
    video/x-fli fli
    video/x-flv flv
    video/x-m4v m4v
    video/x-mng mng
    video/x-ms-asf asf asx
    video/x-ms-wmv wmv
    video/x-ms-vob vob
    video/x-msvideo avi
    video/x-sgi-movie movie
    x-conference/x-cooltalk ice
    """
