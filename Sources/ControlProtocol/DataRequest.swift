package import DocumentModel

/// Something that is done with the data as a whole.
package enum DataRequest: Hashable, Sendable {
    /// - Parameter file: absolute; written by whoever has the store open.
    case backUp(file: String, replacing: Bool)
    case export([CollectionPath])
    /// - Parameter clearing: whether all documents go first.
    case importDocuments(clearing: Bool)
    case check(repairing: Bool)
    case compact(whole: Bool)
    case clear
}

/// What is told while it is done.
package enum DataEvent: Hashable, Sendable {
    case progress(done: Int, total: Int?)
    /// What a check found.
    case problem(String)
    /// Whole lines of an export.
    case lines([UInt8])
}

/// What came of it, by name.
package struct DataOutcome: Hashable, Sendable {
    package var numbers: [String: Int]

    package init(_ numbers: [String: Int] = [:]) { self.numbers = numbers }

    package subscript(_ name: String) -> Int { numbers[name] ?? 0 }
}
