package import DocumentModel

/// The durable state of a job: up to which time its runs were created.
///
/// It is stored in the commit that creates a run, so a host that is killed neither loses nor repeats a run.
package struct ScheduleRecord: Hashable, Sendable {
    package struct Run: Hashable, Sendable {
        /// The due time of the run.
        package var due: Timestamp
        /// When its delivery was created.
        package var made: Timestamp
        package var isManual: Bool
        /// Nil while the run is in progress, or if the host ended before it could record the end.
        package var end: End?
    }

    package struct End: Hashable, Sendable {
        package var time: Timestamp
        package var outcome: Outcome
    }

    /// The outcome of a run.
    package enum Outcome: UInt8, Sendable {
        case succeeded = 1
        /// It failed and wasn't retried.
        case failed = 2
        /// It failed permanently, or was dropped manually.
        case dead = 3
    }

    /// The schedule and time zone from which `next` was computed.
    var schedule: String
    var zone: String
    /// The first time for which no run was created. Nil if there is none, or if the previous run has to end first.
    package var next: Timestamp?
    /// The wall clock's time when `next` was computed.
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

    /// - Throws: `DecodingFailure` for bytes that this version didn't write.
    init(_ bytes: [UInt8]) throws(DecodingFailure) {
        func time(_ reader: inout ByteReader) throws(DecodingFailure) -> Timestamp {
            let time = Timestamp(microseconds: try reader.signed())
            guard time.isInRange else { throw DecodingFailure("a time of it is not within the years 1 to 9999") }
            return time
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
                    throw DecodingFailure("it has an unknown outcome")
                }
                return End(time: ended, outcome: outcome)
            }
            return run
        }
        try reader.finish()
    }
}
