/** Signs people in. Every attempt is on record before the caller hears of it. `audit`: an `AuditClient`. */
export async function signIn(audit, email, password) {
  const isRight = password === 'correct horse battery staple';
  const { id } = await audit.publish({
    resource: { id: email, type: 'session' },
    action: { type: 'sign-in' },
    subject: { email },
    result: { status: isRight ? 'OK' : 'DENIED' },
  });
  return { isRight, id };
}
