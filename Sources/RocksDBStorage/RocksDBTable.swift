import Foundation
import StorageEngine

/// What RocksDB uses of a table before it has checked it, and without a checksum: it may even end the process.
enum RocksDBTable {
    /// A block's place in the file.
    private struct Place {
        let offset: UInt64
        let size: UInt64

        /// - Parameter end: of the part of the file that the block has to be in.
        init?(_ offset: UInt64, _ size: UInt64, before end: Int) {
            let (blockEnd, isTooFar) = offset.addingReportingOverflow(size)
            guard !isTooFar, blockEnd <= UInt64(end) else { return nil }
            (self.offset, self.size) = (offset, size)
        }
    }

    /// - Throws: `StorageError` if the table can't be opened.
    static func hasWholeEnd(_ table: String) throws(StorageError) -> Bool {
        let file = open(table, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw StoreFile.refusal("the store's table \(table) can't be read") }
        defer { close(file) }
        guard let names = namedBlocks(of: file) else { return false }
        return hasUsableProperties(names, in: file)
    }

    /// The place of the block that names the others, from the table's last bytes: the kind of the checksums, the places of
    /// this block and of the index (as numbers of 7 bits a byte), the version of the format and a mark of RocksDB's.
    ///
    /// - Returns: nil if these aren't as they were written.
    private static func namedBlocks(of file: CInt) -> Place? {
        let (count, checksum): (Int, UInt8) = (53, 4)
        let start = Int(lseek(file, 0, SEEK_END)) - count
        guard let bytes = read(count, at: start, of: file) else { return nil }
        let mark: [UInt8] = [5, 0, 0, 0, 0xF7, 0xCF, 0xF4, 0x85, 0xB7, 0x41, 0xE2, 0x88]
        guard bytes[0] == checksum, Array(bytes[41...]) == mark else { return nil }
        var places = bytes[1..<41]
        guard let offset = number(&places), let size = number(&places), let index = number(&places),
            let indexSize = number(&places), Place(index, indexSize, before: start) != nil
        else { return nil }
        return Place(offset, size, before: start)
    }

    /// Whether RocksDB can look for a table's properties: it reads them, to find out whether their checksum has to be
    /// another one, before it checks that. Their block ends with the number of its parts, whose highest bit stands for an
    /// index that blocks of properties don't have.
    ///
    /// - Parameter names: the place of the block with their name. It has a checksum that RocksDB checks first.
    private static func hasUsableProperties(_ names: Place, in file: CInt) -> Bool {
        let key = Array("rocksdb.properties".utf8)
        guard names.size < 1 << 20, let block = read(Int(names.size), at: Int(names.offset), of: file),
            let found = block.indices.first(where: { block[$0...].starts(with: key) })
        else { return true }
        var rest = block[(found + key.count)...]
        guard let offset = number(&rest), let size = number(&rest),
            let place = Place(offset, size, before: Int(names.offset)), place.size > 4,
            let end = read(4, at: Int(place.offset + place.size) - 4, of: file)
        else { return true }
        let parts = end.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (1...place.size / 4).contains(parts)
    }

    private static func read(_ count: Int, at offset: Int, of file: CInt) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard offset >= 0, pread(file, &bytes, count, off_t(offset)) == count else { return nil }
        return bytes
    }

    /// A number of 7 bits a byte, the lowest first.
    private static func number(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }
}
