import DocumentModel
import FunctionManifest

extension Schedule {
    /// The interval that counts from the end of the previous run; nil for schedules in local time.
    var pause: Int64? {
        guard case .interval(let interval) = self, interval.times == nil else { return nil }
        return Int64(interval.minutes) * 60
    }

    /// The latest runs of a time span, in order.
    ///
    /// - Parameters:
    ///   - first: The start of the span, which has a run.
    ///   - limit: The maximum number of runs, at least one.
    func runs(from first: Timestamp, through last: Timestamp, latest limit: Int, on clock: ZoneClock) -> [Timestamp] {
        guard first <= last else { return [] }
        if let pause {
            let count = (last.seconds - first.seconds) / pause
            return (max(0, count - Int64(limit) + 1)...count).map {
                Timestamp(seconds: first.seconds + $0 * pause, nanoseconds: first.nanoseconds)
            }
        }
        // The span may be a year; its last hour is enough.
        var window: Int64 = 3600
        while first.seconds < last.seconds - window {
            let start = Timestamp(seconds: last.seconds - window, nanoseconds: 0)
            let runs = runs(after: start, through: last, on: clock)
            if runs.count >= limit { return runs.suffix(limit) }
            window *= 4
        }
        return ([first] + runs(after: first, through: last, on: clock)).suffix(limit)
    }

    private func runs(after start: Timestamp, through last: Timestamp, on clock: ZoneClock) -> [Timestamp] {
        var runs: [Timestamp] = []
        var time = start
        while let next = next(after: time, on: clock), next <= last {
            runs.append(next)
            time = next
        }
        return runs
    }
}
