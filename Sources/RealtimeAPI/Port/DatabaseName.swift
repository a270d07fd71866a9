/// The database that a request is for: its parameter `ns`, or the first label of a host of Firebase's kind.
struct DatabaseName {
    let name: String

    private static let suffixes = [".firebaseio.com", ".firebasedatabase.app"]

    static let missing = RESTRefusal(400, "The request names no database: add ns to the URL.")

    /// - Parameters:
    ///   - parameter: the parameter's value; nil or empty if there is none.
    ///   - host: the header, with or without a port.
    /// - Returns: nil if the request names none. Names are those of hosts, so their letters are lowercase ones.
    /// - Throws: if it names one by what isn't a name.
    init?(_ parameter: String?, host: String?) throws(RESTRefusal) {
        if let parameter, !parameter.isEmpty {
            guard Self.isValid(parameter) else { throw RESTRefusal(400, "ns is not the name of a database.") }
            name = parameter.lowercased()
            return
        }
        guard let host = host?.prefix(while: { $0 != ":" }), Self.suffixes.contains(where: { host.hasSuffix($0) }),
            let label = host.split(separator: ".").first, Self.isValid(String(label))
        else { return nil }
        name = label.lowercased()
    }

    private static func isValid(_ name: String) -> Bool {
        (1...100).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}
