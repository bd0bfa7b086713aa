import express from 'express';
import { adapterConformance } from '../conformance/adapter.js';
import { expressApp } from '../support/express-app.js';
import { expressCases } from './express-cases.js';

adapterConformance('Express 5', expressApp);
expressCases('Express 5', express);
