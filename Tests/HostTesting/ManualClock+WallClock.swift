package import TestSupport
package import TokenVerification
import DocumentModel

extension ManualClock {
    /// A clock at the time that the tokens of ``TestIssuer`` are made for.
    package static func atIssue() -> ManualClock {
        ManualClock(at: Timestamp(seconds: TestIssuer.start, nanoseconds: 0))
    }

    package var wall: WallClock {
        { self.timestamp().seconds }
    }
}
