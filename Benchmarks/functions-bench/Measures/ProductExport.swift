import Foundation

/// An export of products, as `data import` reads it.
enum ProductExport {
    static func write(_ count: Int, to file: URL) throws {
        try Data().write(to: file)
        let output = try FileHandle(forWritingTo: file)
        defer { try? output.close() }
        try output.write(
            contentsOf: Data(
                (#"{"format":"functions-host documents","version":1,"project":"demo-shop","database":"(default)","#
                    + #""readTime":"2026-11-21T14:46:56.306772Z"}"# + "\n").utf8))
        for start in stride(from: 0, to: count, by: 1000) {
            let lines = (start..<min(start + 1000, count)).map { line($0) }
            try output.write(contentsOf: Data(lines.joined().utf8))
        }
        try output.write(contentsOf: Data("{\"count\":\(count)}\n".utf8))
    }

    private static func line(_ number: Int) -> String {
        let digits = String(number)
        let id = "product-" + String(repeating: "0", count: 12 - digits.count) + digits
        return #"{"path":"products/\#(id)","fields":{"name":{"stringValue":"Cup \#(number)"},"#
            + #""desc":{"stringValue":"Porcelain, 80 ml, for an espresso"},"price":{"integerValue":"\#(number % 9000)"},"#
            + #""stock":{"integerValue":"\#(number % 1000)"},"#
            + #""imageURL":{"stringValue":"https://shop.example/images/\#(number).jpg"},"#
            + #""publishedTime":{"timestampValue":"2026-01-02T03:04:05.678901Z"},"#
            + #""owner":{"stringValue":"users/seller-\#(number % 100)"},"rank":{"integerValue":"\#(number)"}}}"#
            + "\n"
    }

    /// The number of a file's lines.
    static func lines(of file: URL) throws -> Int {
        let input = try FileHandle(forReadingFrom: file)
        defer { try? input.close() }
        var count = 0
        while let bytes = try input.read(upToCount: 1 << 20), !bytes.isEmpty {
            count += bytes.count { $0 == UInt8(ascii: "\n") }
        }
        return count
    }
}
