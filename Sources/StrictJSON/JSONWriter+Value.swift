extension JSONWriter {
    /// Appends a value.
    ///
    /// - Parameter wrapping: Which integers that JavaScript can't represent are wrapped as client SDKs expect them.
    /// - Throws: If a number is infinite or not a number, with the path to it.
    package mutating func value(_ value: JSONValue, wrapping: IntegerWrapping = .none) throws(JSONError) {
        switch value {
        case .null: null()
        case .bool(let value): boolean(value)
        case .integer(let value):
            if wrapping != .none, value.magnitude > UInt64(IntegerWrapper.largestExact) {
                wrapped(value, as: IntegerWrapper.int64)
            } else {
                number(magnitude: value.magnitude, isNegative: value < 0)
            }
        case .unsigned(let value):
            if wrapping != .none, wrapping == .all || value <= Int64.max, value > UInt64(IntegerWrapper.largestExact) {
                wrapped(value, as: IntegerWrapper.uint64)
            } else {
                number(magnitude: value, isNegative: false)
            }
        case .double(let value): try number(value)
        case .string(let value): string(value)
        case .array(let values):
            try elements(values) { (writer, element) throws(JSONError) in
                try writer.value(element, wrapping: wrapping)
            }
        case .object(let object):
            try members(object.members) { (writer, member) throws(JSONError) in
                try writer.value(member, wrapping: wrapping)
            }
        }
    }

    /// Appends an array. Errors contain the path from here.
    @inlinable
    public mutating func elements<Element>(
        _ elements: [Element], _ write: (inout JSONWriter, Element) throws(JSONError) -> Void
    ) throws(JSONError) {
        bytes.append(UInt8(ascii: "["))
        for index in elements.indices {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            do throws(JSONError) { try write(&self, elements[index]) } catch { throw error.inside(.index(index)) }
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Appends an object. Errors contain the path from here.
    @inlinable
    public mutating func members<Member>(
        _ members: KeyedList<Member>, _ write: (inout JSONWriter, Member) throws(JSONError) -> Void
    ) throws(JSONError) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for entry in members.entries {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            key(entry.key)
            do throws(JSONError) { try write(&self, entry.value) } catch { throw error.inside(.name(entry.key)) }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// Appends a number in its shortest form: an integer has no fraction.
    private mutating func number(_ value: Double) throws(JSONError) {
        guard value.isFinite else { throw JSONError(.unrepresentable("JSON has no number for \(value)")) }
        if abs(value) <= Double(IntegerWrapper.largestExact), let integer = Int64(whole: value) {
            number(magnitude: integer.magnitude, isNegative: value.sign == .minus)
        } else {
            double(value)
        }
    }

    private mutating func wrapped(_ value: some FixedWidthInteger, as type: String) {
        bytes.append(contentsOf: "{\"@type\":\"\(type)\",\"value\":\"\(value)\"}".utf8)
    }
}
