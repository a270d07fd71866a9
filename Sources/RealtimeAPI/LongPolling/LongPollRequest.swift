import TextFormats

/// A request of long polling: what its URL's query says.
enum LongPollRequest: Equatable {
    /// A piece of a message of the client.
    struct Segment: Equatable {
        /// From 0, without gaps over the whole session.
        var number: Int
        /// How many pieces the message has.
        var count: Int
        var data: String
    }

    /// - Parameter callback: what the page's functions end with.
    case start(callback: String)
    case poll(id: String, password: String, [Segment])
    /// A frame that the page has as long as its client is open.
    case frame
    /// The client closes, or its page is left.
    case disconnect(id: String, password: String)
    case invalid
}

extension LongPollRequest {
    /// More don't fit a URL.
    static let maxSegments = 256

    init(_ parameters: URLParameters) {
        if parameters["start"] == "t" {
            // The callback becomes a part of a script.
            guard let callback = parameters["cb"], (1...20).contains(callback.utf8.count),
                callback.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else {
                self = .invalid
                return
            }
            self = .start(callback: callback)
            return
        }
        guard let id = parameters["id"], let password = parameters["pw"] else {
            self = .invalid
            return
        }
        if parameters["dframe"] == "t" {
            self = .frame
        } else if parameters["disconn"] == "t" {
            self = .disconnect(id: id, password: password)
        } else if let segments = Self.segments(parameters) {
            self = .poll(id: id, password: password, segments)
        } else {
            self = .invalid
        }
    }

    /// - Returns: nil if one of them isn't complete.
    private static func segments(_ parameters: URLParameters) -> [Segment]? {
        // Hundreds of names among a thousand parameters.
        let values = parameters.byName
        var segments: [Segment] = []
        while let number = values["seg\(segments.count)"] {
            let index = segments.count
            guard index < maxSegments, let number = Int(number), number >= 0,
                let count = values["ts\(index)"].flatMap({ Int($0) }), count > 0,
                let data = values["d\(index)"]
            else { return nil }
            segments.append(Segment(number: number, count: count, data: data))
        }
        return segments
    }
}
