import TextFormats
import StrictJSON

extension ConfigurationReader {
    /// Reports a problem of the key or value at this offset.
    mutating func report(_ message: String, at offset: Int) {
        problems.insert(problem(message, at: offset))
    }

    /// Reports something valid that this host doesn't support and ignores.
    mutating func skip(_ message: String, at offset: Int) { skipped.append(problem(message, at: offset)) }

    private func problem(_ message: String, at offset: Int) -> ConfigurationError.Problem {
        let place = ConfigurationPlaces.Place(JSONPosition(of: offset, in: bytes))
        return .init(place: place, key: root.path(to: offset) ?? "", message: message)
    }

    /// Records a key's place, for problems that are found after the file was read.
    mutating func note(_ key: String, _ offset: Int) {
        places.byKey[key] = ConfigurationPlaces.Place(JSONPosition(of: offset, in: bytes))
    }

    /// Returns an object's known members and reports the unknown ones.
    mutating func object(_ node: JSONNode, key: String, known: [String]) -> [String: JSONNode]? {
        guard case .object(let members) = node.kind else {
            report("\(node.summary) is not an object; write { … }", at: node.offset)
            return nil
        }
        var object: [String: JSONNode] = [:]
        for member in members {
            note(key.isEmpty ? member.key : "\(key).\(member.key)", member.offset)
            guard known.contains(member.key) else {
                let nearest = NearestName.of(member.key, in: known)
                report(
                    "unknown key; "
                        + (nearest.map { "did you mean \"\($0)\"?" }
                            ?? "the known keys are \(known.map { "\"\($0)\"" }.joined(separator: ", "))"),
                    at: member.offset)
                continue
            }
            object[member.key] = member.value
        }
        return object
    }

    mutating func string(_ node: JSONNode) -> String? {
        guard case .string(let text) = node.kind else {
            report("\(node.summary) is not a string; write it in quotes", at: node.offset)
            return nil
        }
        return text
    }

    mutating func path(_ node: JSONNode) -> String? {
        guard let path = string(node) else { return nil }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            report("\(node.summary) is not a path", at: node.offset)
            return nil
        }
        return path
    }

    /// Reads a bundle's name. The rules are those of function names.
    mutating func name(_ node: JSONNode) -> String? {
        guard let name = string(node) else { return nil }
        guard Self.isName(name) else {
            report(
                "\(node.summary) is not a bundle name; use letters, digits, _ and -, begin with a letter, and "
                    + "use at most 63 characters", at: node.offset)
            return nil
        }
        guard name != HostConfiguration.rulesName else {
            report(
                "\"\(name)\" stands for the security rules in deployments; give the bundle another name",
                at: node.offset)
            return nil
        }
        return name
    }

    package static func isName(_ name: String) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }
        guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 63 else { return false }
        return name.utf8.allSatisfy {
            isLetter($0) || (48...57).contains($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
    }

    mutating func integer(_ node: JSONNode, _ range: ClosedRange<Int>, _ what: String) -> Int? {
        guard case .integer(let value) = node.kind, let integer = Int(exactly: value), range.contains(integer) else {
            report("\(node.summary) is not \(what); write \(range.lowerBound) … \(range.upperBound)", at: node.offset)
            return nil
        }
        return integer
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ node: JSONNode, _: Choice.Type) -> Choice? {
        if case .string(let text) = node.kind, let choice = Choice(rawValue: text) { return choice }
        let choices = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
        report("\(node.summary) is not allowed here; write \(choices)", at: node.offset)
        return nil
    }

    /// Reads a size of a body such as `512KiB` or `10MiB`, from 1 KiB to what fits into a frame.
    /// - Parameter most: the largest size, in MiB.
    mutating func byteCount(_ node: JSONNode, most: Int) -> Int? {
        byteCount(node, "the size of a body", 1024...most << 20)
    }

    /// Reads a size such as `64MiB`.
    /// - Parameter range: from a number of KiB or MiB to a number of MiB.
    mutating func byteCount(_ node: JSONNode, _ what: String, _ range: ClosedRange<Int>) -> Int? {
        if case .string(let text) = node.kind, text.hasSuffix("KiB") || text.hasSuffix("MiB"),
            text.utf8.first.map({ (49...57).contains($0) }) == true, let number = Int(text.dropLast(3)),
            (1...range.upperBound >> 10).contains(number)
        {
            let bytes = number * (text.hasSuffix("MiB") ? 1024 * 1024 : 1024)
            if range.contains(bytes) { return bytes }
        }
        let least = range.lowerBound < 1 << 20 ? "\(range.lowerBound >> 10)KiB" : "\(range.lowerBound >> 20)MiB"
        report("\(node.summary) is not \(what); write \(least) … \(range.upperBound >> 20)MiB", at: node.offset)
        return nil
    }
}

extension JSONNode {
    /// Returns this node with the overlay applied: objects are merged, any other value is replaced.
    func overlaid(with overlay: JSONNode) -> JSONNode {
        guard case .object(var members) = kind, case .object(let changes) = overlay.kind else { return overlay }
        for change in changes {
            if let index = members.firstIndex(where: { $0.key == change.key }) {
                members[index].value = members[index].value.overlaid(with: change.value)
                members[index].offset = change.offset
            } else {
                members.append(change)
            }
        }
        return JSONNode(kind: .object(members), offset: offset)
    }

    func without(_ keys: [String]) -> JSONNode {
        guard case .object(let members) = kind else { return self }
        return JSONNode(kind: .object(members.filter { !keys.contains($0.key) }), offset: offset)
    }

    /// The offset of a member's key, or of this node if it has no such member.
    func memberOffset(_ key: String) -> Int {
        guard case .object(let members) = kind else { return offset }
        return members.first { $0.key == key }?.offset ?? offset
    }
}
