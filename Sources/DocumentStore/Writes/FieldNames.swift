package import DocumentModel
import Foundation

/// Names of fields are in Unicode's normal form C, so that two which Swift takes for equal are the same bytes.
package enum FieldNames {
    /// The lead byte of U+0300, before which every character is in that form, whatever its neighbours.
    private static let firstCombining: UInt8 = 0xCC

    /// - Throws: `invalidArgument` where it isn't, or can't be told to be.
    package static func check(_ name: String) throws(DocumentError) {
        var text = name
        if text.withUTF8({ $0.allSatisfy { $0 < firstCombining } }) { return }
        guard TextBytes.equal(name, name.precomposedStringWithCanonicalMapping) else {
            throw .invalidArgument(
                "the field name \"\(name)\" is not in Unicode's normal form C (NFC), as names of fields have to be; "
                    + "normalize it")
        }
        // Text of characters that were known stays in the form for good; of newer ones the tables here may not agree.
        guard name.unicodeScalars.allSatisfy({ ($0.properties.age?.major ?? .max) <= 15 }) else {
            throw .invalidArgument(
                "the field name \"\(name)\" has a character that is not one of Unicode 15, as those in names of fields "
                    + "have to be")
        }
    }
}

extension FieldPath {
    /// Checks the path as masks, transforms and queries name it.
    func check() throws(DocumentError) {
        try DocumentLimits.check(self)
        for segment in segments { try FieldNames.check(segment) }
    }
}

extension [String: Value] {
    /// Checks the names of all maps in it. Its depth must be bounded.
    func checkNames() throws(DocumentError) {
        for (name, value) in self {
            try FieldNames.check(name)
            try value.checkNames()
        }
    }
}

extension Value {
    /// Checks the names of all maps in it. Its depth must be bounded.
    func checkNames() throws(DocumentError) {
        switch self {
        case .map(let fields): try fields.checkNames()
        case .array(let values): for value in values { try value.checkNames() }
        default: return
        }
    }
}
