#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An open file that a response sends.
final class ResponseFile: Sendable {
    private let descriptor: Int32
    private let size: Int

    /// - Returns: nil if there is no regular file that this process may read, or if it is outside of the directory.
    init?(_ path: String, in directory: String?) {
        guard !path.utf8.contains(0), let resolved = Self.resolve(path, in: directory) else { return nil }
        // Opening a pipe would wait for a writer.
        let descriptor = open(resolved, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        size = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// Without symbolic links, which could lead out of the directory.
    private static func resolve(_ path: String, in directory: String?) -> String? {
        guard let directory else { return path }
        guard let base = realPath(directory), let resolved = realPath("\(base)/\(path)") else { return nil }
        let prefix = base == "/" ? base : base + "/"
        guard resolved.utf8.starts(with: prefix.utf8) else { return nil }
        let isHidden = resolved.utf8.dropFirst(prefix.utf8.count).split(separator: UInt8(ascii: "/"))
            .contains { $0.first == UInt8(ascii: ".") }
        return isHidden ? nil : resolved
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(validatingCString: resolved)
    }

    /// A small file as bytes, so that its response has a length; a larger one is streamed.
    ///
    /// - Throws: ``FileReadError``.
    func body() throws -> HTTPResponse.Body {
        if size <= HTTPBodyWriter.partSize { return .bytes(try read(at: 0)) }
        return .stream { [self] writer in
            var offset = 0
            while true {
                let part = try read(at: offset)
                guard !part.isEmpty else { return }
                try await writer.write(part)
                offset += part.count
            }
        }
    }

    private func read(at offset: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: HTTPBodyWriter.partSize) { buffer, count in
            while count < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                let read = pread(descriptor, rest.baseAddress, rest.count, off_t(offset + count))
                if read < 0 && errno == EINTR { continue }
                guard read >= 0 else { throw FileReadError(code: errno) }
                if read == 0 { break }
                count += read
            }
        }
    }
}

/// A file of a response can't be read.
private struct FileReadError: Error, CustomStringConvertible {
    let code: Int32

    var description: String { "the file of a response can't be read: \(String(cString: strerror(code)))" }
}
