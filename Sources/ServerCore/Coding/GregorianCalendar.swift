/// The proleptic Gregorian calendar, by days counted from 1970-01-01.
package enum GregorianCalendar {
    /// The twelve months as HTTP and access logs write them, three letters each.
    package static let monthNames: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"

    /// The date of a day.
    /// - Parameter day: any day within 64 bits of seconds.
    /// - Returns: its year, month and day; the year before 1 is 0.
    package static func date(ofDay day: Int64) -> (year: Int, month: Int, day: Int) {
        // Years begin in March, so that the leap day is the last day of a year; 400 years are 146,097 days.
        let (era, dayOfEra) = (day + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let dayOfMonth = Int(dayOfYear - (153 * shifted + 2) / 5 + 1)
        let month = Int(shifted < 10 ? shifted + 3 : shifted - 9)
        let year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        return (year, month, dayOfMonth)
    }

    /// The day number of a date; nil when the date does not exist.
    /// - Parameters:
    ///   - year: 0 to 9999.
    ///   - month: 1 to 12.
    ///   - day: 1 to 31.
    /// - Returns: the day's number.
    package static func day(year: Int, month: Int, day: Int) -> Int64? {
        guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let (era, yearOfEra) = shiftedYear.flooredDivision(by: 400)
        let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let number = era * 146_097 + dayOfEra - 719_468
        // A date such as 31 April would be in the next month.
        return date(ofDay: number) == (year, month, day) ? number : nil
    }
}

extension Int64 {
    /// Division that rounds towards minus infinity, for a positive divisor.
    package func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
