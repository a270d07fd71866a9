package import DocumentModel

/// What is durable of a job: up to when its runs were made.
///
/// It is stored in the commit that makes a run, so that a host that is killed at any moment neither loses nor repeats one.
package struct ScheduleRecord: Hashable, Sendable {
    package struct Run: Hashable, Sendable {
        /// The time the run was for.
        package var due: Timestamp
        /// When its delivery was made.
        package var made: Timestamp
        package var isManual: Bool
        /// Nil while it goes on, or where the host ended before it could be noted.
        package var end: End?
    }

    package struct End: Hashable, Sendable {
        package var time: Timestamp
        package var outcome: Outcome
    }

    /// How a run ended.
    package enum Outcome: UInt8, Sendable {
        case succeeded = 1
        /// It failed and was not tried again.
        case failed = 2
        /// It failed too often, or was given up by hand.
        case dead = 3
    }

    /// The schedule and its zone that `next` was worked out from.
    var schedule: String
    var zone: String
    /// The first time that no run was made for. Nil where there is none, or where the run before has to end first.
    package var next: Timestamp?
    /// What the wall clock showed when `next` was worked out.
    package var asOf: Timestamp
    package var lastRun: Run?

    static let prefix = "schedule/"
    static func name(_ function: String) -> String { prefix + function }
}

extension ScheduleRecord {
    private static let format: UInt8 = 1

    var encoded: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 96)
        writer.write(byte: Self.format)
        writer.write(schedule)
        writer.write(zone)
        writer.write(optional: next) { $0.write(signed: $1.microseconds) }
        writer.write(signed: asOf.microseconds)
        writer.write(optional: lastRun) { writer, run in
            writer.write(signed: run.due.microseconds)
            writer.write(signed: run.made.microseconds)
            writer.write(run.isManual)
            writer.write(optional: run.end) { writer, end in
                writer.write(signed: end.time.microseconds)
                writer.write(byte: end.outcome.rawValue)
            }
        }
        return writer.bytes
    }

    /// - Throws: `DecodingFailure` for bytes that this program didn't write.
    init(_ bytes: [UInt8]) throws(DecodingFailure) {
        func time(_ reader: inout ByteReader) throws(DecodingFailure) -> Timestamp {
            Timestamp(microseconds: try reader.signed())
        }
        var reader = ByteReader(bytes)
        guard try reader.byte() == Self.format else { throw DecodingFailure("it has an unknown format") }
        schedule = try reader.string()
        zone = try reader.string()
        next = try reader.optional(time)
        asOf = try time(&reader)
        lastRun = try reader.optional { reader throws(DecodingFailure) in
            var run = Run(due: try time(&reader), made: try time(&reader), isManual: try reader.bool())
            run.end = try reader.optional { reader throws(DecodingFailure) in
                let ended = try time(&reader)
                guard let outcome = Outcome(rawValue: try reader.byte()) else {
                    throw DecodingFailure("no run ends so")
                }
                return End(time: ended, outcome: outcome)
            }
            return run
        }
        try reader.finish()
    }
}
