import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Functions that exceed their limits, or delay others.
extension FixtureFunctions {
    struct Allocation: Codable, Sendable {
        var mebibytes: Int
        /// The delay in microseconds after each MiB.
        var pause: UInt32
    }

    @FunctionsBuilder var greedy: [Function] {
        onCall("allocates", .memory(.mib(128)), .concurrency(4)) { (request: CallableRequest<Allocation>) in
            Hoard.fill(mebibytes: request.data.mebibytes, pausing: request.data.pause)
            return request.data.mebibytes
        }
        onCall("allocatesAtOnce", .memory(.mib(128))) { (request: CallableRequest<Int>) in
            let block = UnsafeMutableRawPointer.allocate(byteCount: request.data << 20, alignment: 4096)
            defer { block.deallocate() }
            return Int(bitPattern: block) & 4095
        }
        onCall("allocatesInChild", .memory(.mib(128))) { (request: CallableRequest<NoData>) in
            _ = FixtureProgram.start("allocate")
            try await Task.sleep(for: .seconds(3600))
        }
        onCall("startsChildren") { (request: CallableRequest<Int>) in
            for _ in 0..<request.data { _ = FixtureProgram.start("sleep") }
            // Beyond what a test allows, it lasts until it is killed.
            try await Task.sleep(for: .milliseconds(request.data > 5 ? 3_600_000 : 500))
            return request.data
        }
        onCall("startsRunaway") { (request: CallableRequest<NoData>) in
            let child = FixtureProgram.start("sleep", leaves: true)
            try await Task.sleep(for: .milliseconds(500))
            return child
        }
        onCall("leaksFiles") { (request: CallableRequest<Int>) in
            var count = 0
            while count < request.data, open("/dev/null", O_RDONLY) >= 0 { count += 1 }
            return count
        }
        onCall("blocksThreads", .timeout(.seconds(10)), .concurrency(10)) { (request: CallableRequest<Bool>) in
            guard request.data else { return Int(getpid()) }
            request.logger.info("it blocks")
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<256 { group.addTask { while true { sleep(3600) } } }
            }
            return 0
        }
        onCall("readsAtOnce", .memory(.gib(1)), .timeout(.seconds(300))) { (request: CallableRequest<Int>) in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<request.data {
                    group.addTask { try await request.firestore.document("large/1").getDocument().exists ? 1 : 0 }
                }
                return try await group.reduce(0, +)
            }
        }
        onCall("writesAtOnce", .memory(.mib(128)), .timeout(.seconds(300))) { (request: CallableRequest<Int>) in
            let text = String(repeating: "x", count: 500_000)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<request.data {
                    group.addTask { try await request.firestore.document("large/w\(number)").setData(["a": text]) }
                }
                try await group.waitForAll()
            }
            return request.data
        }
        // Implemented in `RogueWorker`: this function's process doesn't run the runtime.
        onCall("rogue", .concurrency(10), .timeout(.seconds(20))) { (request: CallableRequest<String>) in request.data }
    }
}
