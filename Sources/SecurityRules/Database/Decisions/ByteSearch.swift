/// Searches for bytes in linear time (Knuth, Morris and Pratt).
struct ByteSearch {
    private let wanted: [UInt8]
    /// For each place, how long the longest proper prefix is that ends there.
    private let borders: [Int]

    init(_ wanted: String) {
        let wanted = Array(wanted.utf8)
        var borders = [Int](repeating: 0, count: wanted.count)
        var length = 0
        for place in wanted.indices.dropFirst() {
            while length > 0, wanted[place] != wanted[length] { length = borders[length - 1] }
            if wanted[place] == wanted[length] { length += 1 }
            borders[place] = length
        }
        self.wanted = wanted
        self.borders = borders
    }

    func first(in text: [UInt8], from start: Int) -> Int? {
        guard !wanted.isEmpty else { return start }
        var length = 0
        for place in start..<max(start, text.count) {
            while length > 0, text[place] != wanted[length] { length = borders[length - 1] }
            if text[place] == wanted[length] { length += 1 }
            if length == wanted.count { return place + 1 - length }
        }
        return nil
    }
}
