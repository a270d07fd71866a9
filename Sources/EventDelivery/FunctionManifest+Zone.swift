import FunctionManifest
import Foundation

extension FunctionManifest {
    /// Why the job's time zone is invalid; nil if it is valid, or if this isn't a job.
    ///
    /// This isn't part of the manifest's own check, because the bundle doesn't link Foundation, which has the zones.
    package var zoneProblem: String? {
        guard case .schedule(let trigger) = trigger, TimeZone(identifier: trigger.timeZone) == nil else { return nil }
        return ScheduleError.unknownZone(trigger.timeZone).description
    }
}
