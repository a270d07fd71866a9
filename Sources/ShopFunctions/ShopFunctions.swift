import FunctionsRuntime

/// The shop's backend: a purchase that reads cart and stock and writes the order in one transaction, the functions that
/// follow it, a catalog, and the appointment of staff.
@main
struct ShopFunctions: FunctionBundle {
    var functions: [Function] {
        onCall(
            "purchase", .region(.asiaNortheast1), .memory(.gib(1)), .timeout(.seconds(240)),
            .idempotencyKey(\.?.requestID)
        ) { (request: CallableRequest<Purchase.Request?>, transaction: Transaction) in
            try await Purchase(buyer: request.requireAuth().uid).run(in: transaction)
        }
        onRequest("catalog", .region(.asiaNortheast1), .cors(.any)) { request in
            try await Catalog(request).page()
        }
        onCall("appointStaff", .region(.asiaNortheast1), .authPolicy { $0?.token["owner"] == true }) {
            (request: CallableRequest<String>, transaction: Transaction) in
            try await Staff(in: transaction).appoint(email: request.data)
        }
        onDocumentCreated(
            "recordSale", document: "users/{userID}/orders/{orderID}", .region(.asiaNortheast1), .retry()
        ) { event, transaction in
            try Sales.record(try event.data.data(as: Order.self), in: transaction)
        }
        onTaskDispatched("sendReceipt", .region(.asiaNortheast1), .retry(.attempts(10))) {
            (request: TaskRequest<Receipt.Request>, transaction: Transaction) in
            try await Receipt.send(request.data, in: transaction)
        }
        onDocumentUpdated(
            "syncOwner", document: "users/{userID}", .region(.asiaNortheast1), .timeout(.seconds(540)), .retry()
        ) { event in
            guard event.data.before.get("name") != event.data.after.get("name") else { return }
            try await OwnerSync(user: event.data.after.reference).run()
        }
        onSchedule(
            "expireCarts", schedule: "every day 03:00", .region(.asiaNortheast1), .timeZone("Asia/Tokyo"),
            .timeout(.seconds(1800)), .retry(.attempts(4))
        ) { event in
            let removed = try await CartExpiry(event.firestore, now: event.scheduleTime).run()
            event.logger.info("old cart items were removed", metadata: ["count": "\(removed)"])
        }
    }
}
