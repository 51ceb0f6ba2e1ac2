extension TextWriter {
    /// Writes a number of bytes for people: `312 B`, `4.7 MB`.
    mutating func size(_ bytes: Int64) {
        guard bytes >= 1000 else {
            integer(bytes)
            return raw(" B")
        }
        var tenths = bytes / 100
        var unit = 0
        let units: [StaticString] = [" kB", " MB", " GB", " TB", " PB", " EB"]
        while tenths >= 10_000, unit < units.count - 1 {
            tenths /= 1000
            unit += 1
        }
        integer(tenths / 10)
        if tenths < 1000 {
            raw(".")
            integer(tenths % 10)
        }
        raw(units[unit])
    }

    /// Writes a number of bytes in the format of Apache's listings, for programs that parse those: `312 `, `4.7M`.
    mutating func shortSize(_ bytes: Int64) {
        var (rest, unit) = (Double(bytes), 0)
        let units: [StaticString] = [" ", "K", "M", "G", "T", "P", "E"]
        while rest >= 999.5, unit < units.count - 1 {
            rest /= 1024
            unit += 1
        }
        let tenths = Int64((rest * 10).rounded())
        if unit > 0, tenths < 100 {
            integer(tenths / 10)
            raw(".")
            integer(tenths % 10)
        } else {
            integer(Int64(rest.rounded()))
        }
        raw(units[unit])
    }
}
