#include <libxml/xmlversion.h>
// Its headers would bring ICU's, which are at odds with those that Foundation has of its own: any error in a program with
// both would show theirs first. Nothing here converts by it.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/SAX2.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
#include <libxml/uri.h>
