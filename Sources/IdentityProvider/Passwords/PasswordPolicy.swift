import StrictJSON

/// What passwords must have.
package struct PasswordPolicy: Hashable, Sendable {
    package var minLength = 6
    package var maxLength = 4096
    package var needsLowercase = false
    package var needsUppercase = false
    package var needsDigit = false
    package var needsSymbol = false

    package init() {}

    /// The characters that count as symbols, as Firebase has them.
    static let symbols = Array("^$*.[]{}()?\"!@#%&/\\,><':;|_~").map(String.init)

    /// - Throws: an ``IdentityToolkitError`` that names what the password lacks.
    func check(_ password: String) throws(IdentityToolkitError) {
        // As the SDKs count: in UTF-16.
        let length = password.utf16.count
        try require(
            length >= min(minLength, 6), "WEAK_PASSWORD : Password should be at least \(min(minLength, 6)) characters")
        var missing: [String] = []
        if length < minLength { missing.append("Password must contain at least \(minLength) characters") }
        if length > maxLength { missing.append("Password may contain at most \(maxLength) characters") }
        if needsLowercase, !password.contains(where: \.isLowercase) {
            missing.append("Password must contain a lower case character")
        }
        if needsUppercase, !password.contains(where: \.isUppercase) {
            missing.append("Password must contain an upper case character")
        }
        if needsDigit, !password.contains(where: { ("0"..."9").contains($0) }) {
            missing.append("Password must contain a numeric character")
        }
        if needsSymbol, !password.contains(where: { Self.symbols.contains(String($0)) }) {
            missing.append("Password must contain a non-alphanumeric character")
        }
        try require(
            missing.isEmpty,
            "PASSWORD_DOES_NOT_MEET_REQUIREMENTS : Missing password requirements: "
                + "[\(missing.joined(separator: ", "))]")
    }

    /// The answer of `passwordPolicy`.
    var json: JSONObject {
        var options: JSONObject = [
            "minPasswordLength": .integer(Int64(minLength)), "maxPasswordLength": .integer(Int64(maxLength)),
        ]
        if needsLowercase { options["containsLowercaseCharacter"] = true }
        if needsUppercase { options["containsUppercaseCharacter"] = true }
        if needsDigit { options["containsNumericCharacter"] = true }
        if needsSymbol { options["containsNonAlphanumericCharacter"] = true }
        return [
            "customStrengthOptions": .object(options), "enforcementState": "ENFORCE",
            "allowedNonAlphanumericCharacters": .array(Self.symbols.map(JSONValue.string)),
            "forceUpgradeOnSignin": false, "schemaVersion": 1,
        ]
    }
}
