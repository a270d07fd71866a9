package import DocumentModel
package import FunctionManifest
import Foundation

/// Local time in a time zone, in whole minutes.
///
/// Local minutes count from 1970 as if the zone were UTC. When clocks change, a local minute may be skipped or occur
/// twice.
package struct ZoneClock: Sendable {
    private let zone: TimeZone

    init(_ zone: TimeZone) { self.zone = zone }

    /// - Throws: ``ScheduleError`` if the time zone is unknown.
    package init(zone identifier: String) throws(ScheduleError) {
        guard let zone = TimeZone(identifier: identifier) else { throw .unknownZone(identifier) }
        self.zone = zone
    }

    /// The local minute at an instant; both count from 1970.
    func local(atMinute instant: Int64) -> Int64 { instant + offset(atMinute: instant) }

    /// The instant of a local minute: the first one of two, or the end of the gap that skips it.
    func instant(ofLocal local: Int64) -> Int64 {
        // No zone changes twice within two days, so these are the offsets before and after a nearby change.
        let before = offset(atMinute: local - Self.day)
        let after = offset(atMinute: local + Self.day)
        for offset in [max(before, after), min(before, after)] where self.offset(atMinute: local - offset) == offset {
            return local - offset
        }
        var (low, high) = (local - max(before, after), local - min(before, after))
        // At `low` the old offset applies, at `high` the new one.
        while high - low > 1 {
            let middle = (low + high) / 2
            if self.offset(atMinute: middle) == before { low = middle } else { high = middle }
        }
        return high
    }

    /// The local time at an instant in RFC 3339 with the zone's offset: `2026-11-22T03:00:00+09:00`.
    package func rfc3339(_ time: Timestamp) -> String {
        let offset = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time.seconds)))
        let local = Timestamp(seconds: time.seconds + Int64(offset), nanoseconds: time.nanoseconds).rfc3339
        guard offset != 0 else { return local }
        func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = abs(offset) / 60
        return local.dropLast() + (offset < 0 ? "-" : "+") + digits(minutes / 60) + ":" + digits(minutes % 60)
    }

    static let day: Int64 = 24 * 60

    private func offset(atMinute instant: Int64) -> Int64 {
        let seconds = zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant) * 60))
        // Only offsets before 1972 have seconds.
        return Int64((Double(seconds) / 60).rounded(.down))
    }
}

extension FunctionManifest {
    /// Why the job's time zone is invalid; nil if it is valid, or if this isn't a job.
    ///
    /// This isn't part of the manifest's own check, because the bundle doesn't link Foundation, which has the zones.
    package var zoneProblem: String? {
        guard case .schedule(let trigger) = trigger, TimeZone(identifier: trigger.timeZone) == nil else { return nil }
        return ScheduleError.unknownZone(trigger.timeZone).description
    }
}
