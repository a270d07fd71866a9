import Foundation
import TestSupport

/// Random schedules of both syntaxes, zones, and instants that lie where it is difficult.
struct RandomSchedule {
    var random: SeededGenerator

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    private static let weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    /// Daylight saving in both hemispheres and at midnight, by half an hour and by two hours; offsets of quarters of an
    /// hour; zones that moved once, one of them by a day; and such as do nothing.
    private static let zones = [
        "America/New_York", "Europe/London", "Europe/Berlin", "Asia/Tokyo", "UTC", "Asia/Kolkata", "Asia/Kathmandu",
        "Australia/Lord_Howe", "Australia/Adelaide", "Australia/Sydney", "Pacific/Auckland", "Pacific/Chatham",
        "America/Santiago", "America/Havana", "Asia/Beirut", "Africa/Cairo", "America/Asuncion", "Atlantic/Azores",
        "America/St_Johns", "Asia/Tehran", "America/Sao_Paulo", "Antarctica/Troll", "Asia/Gaza", "Africa/Casablanca",
        "Pacific/Apia", "Asia/Pyongyang", "America/Caracas", "America/Nuuk", "Asia/Amman", "Pacific/Norfolk",
    ]

    mutating func zone() -> String { random.pick(Self.zones) }

    /// The end of 2023: what laws have said of clocks until then is known to all data on zones, ours and others', and
    /// no update of either changes it.
    static let settled: Int64 = 1_704_067_200

    /// Seconds since 1970: anywhere in two decades, mostly near a change of the zone's clocks.
    mutating func instant(in zone: String) -> Int64 {
        let start = Int64.random(in: 1_104_537_600...Self.settled - 2 * 86_400, using: &random)
        guard !random.once(in: 4), let zone = TimeZone(identifier: zone),
            let change = zone.nextDaylightSavingTimeTransition(after: Date(timeIntervalSince1970: Double(start))),
            Int64(change.timeIntervalSince1970) < Self.settled
        else { return start }
        let near: Int64 = random.once(in: 2) ? 4 * 3600 : 26 * 3600
        return Int64(change.timeIntervalSince1970) + Int64.random(in: -near...near, using: &random)
    }

    mutating func cron() -> String {
        [
            field(0...59, dense: true), field(0...23, dense: true), field(1...31),
            field(1...12, names: Self.months, firstName: 1), field(0...7, names: Self.weekdays),
        ].joined(separator: " ")
    }

    private mutating func field(
        _ range: ClosedRange<Int>, names: [String] = [], firstName: Int = 0, dense: Bool = false
    ) -> String {
        func step() -> Int { Int.random(in: 1...min(range.upperBound, 20), using: &random) }
        func name(_ number: Int) -> String {
            names.indices.contains(number - firstName) && random.once(in: 3) ? names[number - firstName] : "\(number)"
        }
        if random.once(in: dense ? 4 : 2) { return "*" }
        if random.once(in: 5) { return "*/\(step())" }
        var items: [String] = []
        for _ in 0...(random.once(in: 2) ? 0 : Int.random(in: 1...3, using: &random)) {
            let (a, b) = (Int.random(in: range, using: &random), Int.random(in: range, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: items.append("\(name(min(a, b)))-\(name(max(a, b)))")
            case 1: items.append("\(name(min(a, b)))-\(name(max(a, b)))/\(step())")
            case 2: items.append("\(a)/\(step())")
            case 3 where range.lowerBound == 0: items.append("\(a)")
            default: items.append(name(a))
            }
        }
        return items.joined(separator: ",")
    }

    // MARK: App Engine

    mutating func appEngine() -> String {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return "every \(Int.random(in: 1...200, using: &random)) minutes"
        case 1:
            let unit = random.pick(["mins", "minutes", "hours"])
            let counts = unit == "hours" ? [1, 2, 3, 4, 6, 8, 12, 24] : [1, 5, 10, 15, 20, 30, 45, 60, 90, 720, 1440]
            return "every \(random.pick(counts)) \(unit) synchronized"
        case 2:
            let unit = random.pick(["mins", "hours"])
            let count = Int.random(in: 1...(unit == "hours" ? 12 : 300), using: &random)
            return "every \(count) \(unit) from \(time()) to \(time())"
        case 3: return "\(list(1...31) { "\($0)" }) of \(month()) \(time())"
        case 4: return "every \(weekday()) \(random.once(in: 2) ? "of \(month()) " : "")\(time())"
        default:
            let names = random.pick([
                ["1st", "2nd", "3rd", "4th", "5th"], ["first", "second", "third", "fourth", "fifth"],
            ])
            return "\(list(0...4) { names[$0] }) \(weekday()) of \(month()) \(time())"
        }
    }

    private mutating func weekday() -> String {
        if random.once(in: 4) { return "day" }
        let long = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
        let names = random.once(in: 3) ? long : Self.weekdays
        return list(0...6) { names[$0] }
    }

    private mutating func month() -> String {
        if random.once(in: 3) { return "month" }
        if random.once(in: 5) { return "quarter" }
        return list(0...11) { Self.months[$0] }
    }

    private mutating func time() -> String {
        let minute = Int.random(in: 0...59, using: &random)
        return "\(Int.random(in: 0...23, using: &random)):\(minute < 10 ? "0" : "")\(minute)"
    }

    private mutating func list(_ range: ClosedRange<Int>, _ write: (Int) -> String) -> String {
        (0...(random.once(in: 2) ? 0 : 2)).map { _ in write(Int.random(in: range, using: &random)) }
            .joined(separator: ",")
    }
}
