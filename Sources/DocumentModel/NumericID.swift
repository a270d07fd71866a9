/// A document's id of the form `__id7__`, which stands for a number. Such ids come from Datastore; they are ordered by their
/// numbers, before all others.
package struct NumericID: Hashable, Sendable {
    package let number: Int64

    private static let start = Array("__id".utf8)
    private static let end = Array("__".utf8)

    /// - Parameter segment: of a path. Only the shortest form of a number, which isn't 0, is an id.
    package init?(_ segment: some BidirectionalCollection<UInt8>) {
        guard segment.count > Self.start.count + Self.end.count, segment.starts(with: Self.start),
            segment.suffix(Self.end.count).elementsEqual(Self.end)
        else { return nil }
        let digits = String(decoding: segment.dropFirst(Self.start.count).dropLast(Self.end.count), as: UTF8.self)
        guard let number = Int64(digits), number != 0, String(number).utf8.elementsEqual(digits.utf8) else {
            return nil
        }
        self.number = number
    }

    package var text: String { "__id\(number)__" }

    // MARK: Order

    /// No text begins so: the second byte only goes on with a character of UTF-8.
    package static let orderStart: [UInt8] = [0, 0x80]
    private static let digits = Array("0123456789abcdef".utf8)
    /// The length of ``order``.
    package static let orderCount = orderStart.count + 16

    /// Bytes that are ordered as the id is, also among other ids. (Ids of a NUL character with ASCII after it still come
    /// first.)
    package var order: [UInt8] {
        let bits = UInt64(bitPattern: number) ^ 1 << 63
        return Self.orderStart + stride(from: 60, through: 0, by: -4).map { Self.digits[Int(bits >> $0 & 15)] }
    }

    /// - Parameter order: what ``order`` was.
    package init?(order: some Collection<UInt8>) {
        guard order.count == Self.orderCount, order.starts(with: Self.orderStart),
            let bits = UInt64(String(decoding: order.dropFirst(Self.orderStart.count), as: UTF8.self), radix: 16)
        else { return nil }
        number = Int64(bitPattern: bits ^ 1 << 63)
    }
}
