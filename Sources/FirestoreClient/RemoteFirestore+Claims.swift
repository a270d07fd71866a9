package import DocumentModel

/// Work under idempotency keys outside of transactions. Its begin is a document without an answer.
extension RemoteFirestore: CompletionKeeper {
    package func claim(
        isRepeatable: Bool, in context: OperationContext, completion: @escaping Completion<ClaimAnswer>
    ) {
        claims.claim(isRepeatable: isRepeatable, in: context, by: self, completion: completion)
    }

    package func settle(
        _ answer: [UInt8]?, in context: OperationContext, completion: @escaping Completion<Void>
    ) {
        claims.settle(answer, in: context, by: self, completion: completion)
    }

    package func begin(
        _ key: CompletionKey, isRepeatable: Bool, in context: OperationContext,
        completion: @escaping Completion<ClaimAnswer>
    ) {
        run(in: OperationContext(), completion) { () throws(DocumentError) in
            try await self.beginWork(key, isRepeatable: isRepeatable)
        }
    }

    package func end(
        _ key: CompletionKey, _ answer: [UInt8]?, in context: OperationContext,
        completion: @escaping Completion<Void>
    ) {
        run(in: OperationContext(), completion) { () throws(DocumentError) in
            let write =
                if let answer {
                    try RemoteCompletion.write(answer, for: key, nil, at: self.now())
                } else {
                    Write(path: try RemoteCompletion.path(of: key), operation: .delete)
                }
            _ = try await self.commitAlone([write])
        }
    }

    private func beginWork(_ key: CompletionKey, isRepeatable: Bool) async throws(DocumentError) -> ClaimAnswer {
        let kept = try await get([try RemoteCompletion.path(of: key)], .strong, OperationContext()).documents[0]
        var precondition = Write.Precondition.exists(false)
        if let kept {
            switch RemoteCompletion.state(of: key, in: kept, at: now()) {
            case .answered(let answer): return .completed(answer)
            case .otherData: return .keyReused
            case .begun:
                guard isRepeatable else { throw .outcomeUnknown }
            case .expired: break
            }
            precondition = .updateTime(kept.updateTime)
        }
        do throws(DocumentError) {
            let write = try RemoteCompletion.write(nil, for: key, precondition, at: now())
            _ = try await commitAlone([write])
        } catch {
            // Another instance has begun it meanwhile, or this commit's response was lost.
            guard error.code != .alreadyExists, error.code != .failedPrecondition else { throw .outcomeUnknown }
            throw error
        }
        return .claimed
    }
}
