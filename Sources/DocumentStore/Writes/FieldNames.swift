package import DocumentModel
import Foundation

/// Field names must be in Unicode's normal form C, so that two names which Swift treats as equal have the same bytes.
package enum FieldNames {
    /// The lead byte of U+0300; every character before it is in normal form C, whatever its neighbours.
    private static let firstCombining: UInt8 = 0xCC

    /// Whether a text that has only such bytes is in normal form C.
    package static func isInNormalForm(_ byte: UInt8) -> Bool { byte < firstCombining }

    /// - Throws: `invalidArgument` if the name isn't in normal form C, or that can't be determined.
    package static func check(_ name: String) throws(DocumentError) {
        var text = name
        if text.withUTF8({ $0.allSatisfy(isInNormalForm) }) { return }
        guard TextBytes.equal(name, name.precomposedStringWithCanonicalMapping) else {
            throw .invalidArgument(
                "the field name \"\(name)\" is not in Unicode's normal form C (NFC), as names of fields have to be; "
                    + "normalize it")
        }
        // Text of assigned characters stays in the normal form in all later versions; for newer characters the tables
        // here may differ.
        guard name.unicodeScalars.allSatisfy({ ($0.properties.age?.major ?? .max) <= 15 }) else {
            throw .invalidArgument(
                "the field name \"\(name)\" has a character that is not one of Unicode 15, as those in names of fields "
                    + "have to be")
        }
    }
}

extension FieldPath {
    /// Checks the path as masks, transforms and queries name it.
    func check(isTransformed: Bool = false) throws(DocumentError) {
        try DocumentLimits.check(self, isTransformed: isTransformed)
        for segment in segments { try FieldNames.check(segment) }
    }
}

extension [String: Value] {
    /// Checks the names in all nested maps. The depth must be bounded.
    func checkNames() throws(DocumentError) {
        for (name, value) in self {
            try FieldNames.check(name)
            try value.checkNames()
        }
    }
}

extension Value {
    /// Checks the names in all nested maps. The depth must be bounded.
    func checkNames() throws(DocumentError) {
        switch self {
        case .map(let fields): try fields.checkNames()
        case .array(let values): for value in values { try value.checkNames() }
        default: return
        }
    }
}
