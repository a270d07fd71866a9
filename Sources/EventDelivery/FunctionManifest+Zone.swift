import FunctionManifest
import Foundation

extension FunctionManifest {
    /// Why clocks of a job's time zone can't be told; nil where they can, or where this is no job.
    ///
    /// It is no part of the manifest's own check: the bundle does without the zones, which Foundation brings.
    package var zoneProblem: String? {
        guard case .schedule(let trigger) = trigger, TimeZone(identifier: trigger.timeZone) == nil else { return nil }
        return ScheduleError.unknownZone(trigger.timeZone).description
    }
}
